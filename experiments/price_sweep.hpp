#pragma once
// Speed-up against the rate of the network: a curve for every number of GPUs a node.

#include "experiments/price.hpp"

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

}  // namespace onebit::experiments
