#pragma once
// Options of pricing: clusters, workloads and how a step is put together. A table as that of runs.

#include <limits>

#include "experiments/options/options.hpp"
#include "netmodel/step/step_model.hpp"

namespace onebit::experiments {

struct PriceConfig {
  bool names_clusters = false;                                              ///< they were asked for
  std::vector<std::string> clusters = {"eth1", "eth10", "eth25", "ib100"};  ///< presets and files
  Settings cluster_settings;                                                ///< for all of them: cluster.X as X
  std::string workload;                                                     ///< empty: that of a log
  netmodel::CostModelConfig cost_model;
  netmodel::StepOptions step;  ///< gradient_bytes is that of the job where the field below is 0
  double gradient_bytes = 0;
  double warmup_share = kNotGiven;  ///< of the steps before the last stage; not given: as --freeze says, else 0.15
  /// In place of the workload's; not numbers and 0 where they are not given.
  netmodel::Seconds forward{kNotGiven}, backward{kNotGiven}, optimizer{kNotGiven};
  Index parameters = 0;
  std::string calibrate;      ///< file of measured all-reduces; empty: none
  std::string goal;           ///< file for the last stage's step as a GOAL schedule; empty: none
  double target = kNotGiven;  ///< held-out loss of a log
  /// Rates of a node's network link, LOW:HIGH:COUNT, in place of the cluster's; empty: no sweep.
  std::string sweep;
  std::vector<std::string> widths;  ///< GPUs a node, for each a curve; empty: the cluster's
  std::vector<std::string> nodes;   ///< of a scaling table; empty: none

  static constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();
};

const std::vector<Option<PriceConfig>>& price_options();

/// The keys of a cluster's INI file; with "cluster." before them they are options of the command line.
const std::vector<Option<netmodel::Cluster>>& cluster_options();

/// Throws ConfigError for what is malformed or out of range.
PriceConfig make_price_config(const Settings& settings);

/// Whether an option says what to price and how, not what `price` itself should do.
bool is_for_runs_too(const std::string& name);

/// A preset, or a file (a name that ends in .ini), with the settings on top. Throws ConfigError for an unknown key, a
/// malformed value, and a cluster that cannot be.
netmodel::Cluster load_cluster(const std::string& name, const Settings& settings);

/// One of `onebit list workloads`, or a file (a name that ends in .ini) with parameters, batch, forward and backward
/// (seconds of a micro-batch of so many samples), and perhaps doc, optimizer (seconds) and gpu (whose times they are).
/// Throws ConfigError.
netmodel::Workload load_workload(const std::string& name);

/// Writes a cluster as an INI file that load_cluster reads. Throws IoError.
void write_cluster(const netmodel::Cluster& cluster, const std::string& path);

}  // namespace onebit::experiments
