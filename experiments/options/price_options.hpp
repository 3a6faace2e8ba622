#pragma once
// Options of pricing: clusters, workloads and how a step is composed. The table has the form of the runs' table.

#include <limits>

#include "experiments/options/options.hpp"
#include "netmodel/step/step_model.hpp"

namespace onebit::experiments {

struct PriceConfig {
  bool names_clusters = false;  ///< whether the clusters were requested explicitly
  std::vector<std::string> clusters = {"eth1", "eth10", "eth25", "ib100"};  ///< presets and files
  Settings cluster_settings;  ///< overrides for all of them: cluster.X as X
  std::string workload;       ///< empty: the log's own
  netmodel::CostModelConfig cost_model;
  netmodel::StepOptions step;  ///< the job decides gradient_bytes where the field below is 0
  double gradient_bytes = 0;
  double warmup_share = kNotGiven;  ///< share of the steps before the last stage; default: as --freeze says, else 0.15
  /// Replacements for the workload's values; NaN and 0 where not given.
  netmodel::Seconds forward{kNotGiven}, backward{kNotGiven}, optimizer{kNotGiven};
  Index parameters = 0;
  std::string calibrate;      ///< file with measured all-reduces; empty: none
  std::string goal;           ///< file to write the last stage's step to as a GOAL schedule; empty: none
  double target = kNotGiven;  ///< held-out loss that a log is to reach
  /// Rates of a node's network link, LOW:HIGH:COUNT, that replace the cluster's; empty: no sweep.
  std::string sweep;
  std::vector<Index> widths;  ///< GPUs per node, one curve for each; empty: the cluster's
  std::vector<Index> nodes;   ///< numbers of nodes of a scaling table; empty: none

  static constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();
};

const std::vector<Option<PriceConfig>>& price_options();

/// Returns the keys of a cluster's INI file; prefixed with "cluster." they are options of the command line.
const std::vector<Option<netmodel::Cluster>>& cluster_options();

/// Makes the configuration from settings. Throws ConfigError for malformed values and values out of range.
PriceConfig make_price_config(const Settings& settings);

/// Whether an option says what to price and how, as opposed to what the command `price` itself does.
bool is_for_runs_too(const std::string& name);

/// Loads a preset, or a file (a name that ends in .ini), and applies the settings. Throws ConfigError for an unknown
/// key, a malformed value, and an impossible cluster.
netmodel::Cluster load_cluster(const std::string& name, const Settings& settings);

/// Loads one of `onebit list workloads`, or a file (a name that ends in .ini) with parameters, batch, forward and
/// backward (seconds of a micro-batch with that many samples), and optionally doc, optimizer (seconds) and gpu (on
/// which they were measured). Throws ConfigError.
netmodel::Workload load_workload(const std::string& name);

/// Writes a cluster as an INI file that load_cluster reads. Throws IoError.
void write_cluster(const netmodel::Cluster& cluster, const std::string& path);

}  // namespace onebit::experiments
