#pragma once
// Speed-up against the rate of the network: one curve per number of GPUs per node.

#include "experiments/study/price.hpp"

namespace onebit::experiments {

struct SpeedupCurve {
  Index gpus_per_node = 1;
  std::vector<double> rates, speedups;  ///< rates in bytes per second; speed-ups of the last stage over dense Adam
  std::optional<netmodel::BytesPerSecond> break_even{};
};

/// Returns "4 GPUs a node".
std::string width_text(const SpeedupCurve& curve);

/// Computes a curve for each width. Throws ConfigError for a malformed range, or a number of GPUs per node that the
/// workers do not fill.
std::vector<SpeedupCurve> sweep_bandwidth(const Job& job, const netmodel::Cluster& cluster, const PriceConfig& config);

/// Writes speedup.csv and the picture into a folder and returns their paths.
std::vector<std::string> write_sweep(const std::vector<SpeedupCurve>& curves, const Job& job,
                                     const std::string& folder);

/// Throughput of a workload on a number of nodes, in samples per second, for both optimizers.
struct ScalingPoint {
  Index nodes = 1, workers = 1;
  Index batch = 1;             ///< samples of a GPU's micro-batch
  double dense = 0, last = 0;  ///< NaN where the samples of a step cannot be divided evenly
};

struct ScalingPrice {
  std::vector<ScalingPoint> weak;    ///< every GPU keeps its batch
  std::vector<ScalingPoint> strong;  ///< a step keeps the number of samples that it has on the fewest nodes
};

/// Computes the throughput on each number of nodes. Throws ConfigError for invalid numbers of nodes.
ScalingPrice sweep_nodes(const PriceConfig& config, const sim::RunConfig& run, const netmodel::Cluster& cluster);

}  // namespace onebit::experiments
