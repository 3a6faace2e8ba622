#pragma once
// Pricing options: clusters, workloads and how a step is composed, in a table like that of the run options.

#include <limits>
#include <optional>

#include "analysis/log/hybrid_rules.hpp"
#include "experiments/options/options.hpp"
#include "netmodel/step/step_model.hpp"

namespace onebit::experiments {

struct PriceConfig {
  bool names_clusters = false;  ///< whether the clusters were requested explicitly
  std::vector<std::string> clusters = {"eth1", "eth10", "eth25", "ib100"};  ///< names of presets and paths of files
  Settings cluster_settings;            ///< overrides for all clusters; option cluster.X is the key X
  std::vector<std::string> optimizers;  ///< optimizers to rank, or "all"; empty: only the run's is priced
  std::string workload;                 ///< name or file of the workload; empty: the log's
  netmodel::CostModelConfig cost_model;
  netmodel::StepOptions step;  ///< the job sets gradient_bytes if the field below is 0
  double gradient_bytes = 0;
  analysis::HybridRules hybrid;
  double warmup_share = kNotGiven;  ///< share of the steps before the last stage; default: that of --freeze, else 0.15
  /// Replacements for the workload's values; NaN or 0 if not given.
  netmodel::Seconds forward{kNotGiven}, backward{kNotGiven}, optimizer{kNotGiven};
  Index parameters = 0;
  std::optional<netmodel::Collective> collective;  ///< collective that is priced alone
  std::vector<netmodel::Bytes> sizes;              ///< its sizes, as nccl-tests counts them
  std::vector<std::string> calibrate;              ///< files with measured all-reduces; empty: none
  std::string goal;           ///< file for a step of the last stage as a GOAL schedule; empty: none
  double target = kNotGiven;  ///< held-out loss to reach
  /// Rates of a node's network link, LOW:HIGH:COUNT, that replace the cluster's; empty: no sweep.
  std::string sweep;
  std::vector<Index> widths;   ///< GPUs per node, one curve each; empty: the cluster's
  double shorter = kNotGiven;  ///< share by which a step is shorter than dense Adam's at the rate to find
  std::vector<Index> nodes;    ///< numbers of nodes for a scaling table; empty: none

  static constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();
};

const std::vector<Option<PriceConfig>>& price_options();

/// Makes the configuration from settings. Throws ConfigError for malformed values and values out of range.
PriceConfig make_price_config(const Settings& settings);

/// Returns whether an option says what to price and how. The others belong to the command `price` alone.
bool is_for_runs_too(const std::string& name);

}  // namespace onebit::experiments
