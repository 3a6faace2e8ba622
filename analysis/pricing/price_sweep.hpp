#pragma once
// Jobs priced on a cluster whose network or number of nodes varies.

#include "analysis/pricing/job_price.hpp"

namespace onebit::analysis {

/// Speed-up of a job as a function of the network's rate.
struct SpeedupCurve {
  Index gpus_per_node = 1;
  std::vector<double> rates, speedups;  ///< rates in bytes per second; speed-ups of the last stage over dense Adam
  std::optional<netmodel::BytesPerSecond> break_even{};
};

/// Returns `count` >= 2 rates from low to high with equal ratios between neighbours.
std::vector<double> spaced_rates(double low, double high, Index count);

/// Computes the speed-up at each rate of a node's network link: one curve for each given number of GPUs per node, or a
/// single curve for the cluster as it is if no such numbers are given. Throws ConfigError if the number of workers is
/// not a multiple of the number of GPUs per node, so that some node would not be full.
std::vector<SpeedupCurve> sweep_bandwidth(const Job& job, const netmodel::Cluster& cluster,
                                          const netmodel::CostModelConfig& config, const std::vector<double>& rates,
                                          const std::vector<Index>& gpus_per_node);

/// The highest rate that rate_if_shorter tries.
inline constexpr netmodel::BytesPerSecond kFastestTried{1e12};

/// Returns the highest rate of a node's network link, between 1e5 and 1e12 bytes per second, at which a step of the
/// last stage takes at most 1 - share of a step of dense Adam; none if there is no such rate.
std::optional<netmodel::BytesPerSecond> rate_if_shorter(const Job& job, const netmodel::Cluster& cluster,
                                                        const netmodel::CostModelConfig& config, double share);

/// Throughput on a number of nodes, in samples per second, with dense Adam and in the optimizer's last stage.
struct ScalingPoint {
  Index nodes = 1, workers = 1;
  Index batch = 1;             ///< samples of a GPU's micro-batch
  double dense = 0, last = 0;  ///< both throughputs; NaN if the samples of a step cannot be divided evenly
};

struct ScalingPrice {
  std::vector<ScalingPoint> weak;    ///< points at which every GPU keeps its batch
  std::vector<ScalingPoint> strong;  ///< points at which a step has as many samples as on the fewest nodes
};

/// Computes the throughput on each number of nodes, all of which are at least 1. Throws what plan_job throws.
ScalingPrice sweep_nodes(const JobPlan& plan, const netmodel::Cluster& cluster, const netmodel::CostModelConfig& config,
                         const std::vector<Index>& nodes);

}  // namespace onebit::analysis
