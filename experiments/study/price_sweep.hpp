#pragma once
// Speed-up against the rate of the network: a curve for every number of GPUs a node.

#include "experiments/study/price.hpp"

namespace onebit::experiments {

struct SpeedupCurve {
  Index gpus_per_node = 1;
  std::vector<double> rates, speedups;  ///< bytes per second; of the last stage over dense Adam
  std::optional<netmodel::BytesPerSecond> break_even{};
};

/// "4 GPUs a node"
std::string width_text(const SpeedupCurve& curve);

/// Throws ConfigError for a malformed range or a number of GPUs that the workers do not fill.
std::vector<SpeedupCurve> sweep_bandwidth(const Job& job, const netmodel::Cluster& cluster, const PriceConfig& config);

/// Writes speedup.csv and the picture into a folder; returns their paths.
std::vector<std::string> write_sweep(const std::vector<SpeedupCurve>& curves, const Job& job,
                                     const std::string& folder);

/// A workload on a number of nodes; of both optimizers, samples a second.
struct ScalingPoint {
  Index nodes = 1, workers = 1;
  Index batch = 1;             ///< of a GPU's micro-batch
  double dense = 0, last = 0;  ///< NaN where the samples of a step cannot be divided
};

struct ScalingPrice {
  std::vector<ScalingPoint> weak;    ///< every GPU keeps its batch
  std::vector<ScalingPoint> strong;  ///< a step keeps the samples that it has on the fewest nodes
};

/// Throws ConfigError for numbers of nodes that are none.
ScalingPrice sweep_nodes(const PriceConfig& config, const sim::RunConfig& run, const netmodel::Cluster& cluster);

}  // namespace onebit::experiments
