#pragma once
// The price of a job on a cluster: an optimizer's steps, stage by stage, compared with dense Adam on the same cluster.

#include <optional>
#include <set>

#include "analysis/pricing/job.hpp"
#include "netmodel/step/memory.hpp"

namespace onebit::analysis {

/// Mean step of a stage on a cluster.
struct StagePrice {
  std::string stage;
  netmodel::StepEstimate step;
  double samples_per_second = 0;
};

struct ClusterPrice {
  netmodel::Cluster cluster;
  Index nodes = 1, width = 1;
  std::string basis;  ///< source of the compute times
  /// Memory that a GPU needs with the optimizer; absent if a log is priced.
  std::optional<netmodel::MemoryEstimate> memory{};
  StagePrice dense;                    ///< Adam with a dense all-reduce of the gradients
  std::vector<StagePrice> stages;      ///< prices of the optimizer's stages, in order
  double speedup = 1;                  ///< speed-up of the last stage over dense Adam
  double end_to_end_speedup = 1;       ///< speed-up of the whole run, all stages included
  std::optional<Timeline> timeline{};  ///< timeline of the run, if a log is priced
  /// Rate of a network link at which the last stage and dense Adam take the same time, to within half a percent. Of
  /// several such rates between 1e5 and 1e12 bytes per second, it is the nearest one above the cluster's rate if the
  /// last stage is faster at the cluster's rate, and below it if not. If there is none on that side, it is the nearest
  /// one on the other side. None if the last stage is faster by more than half a percent at all rates or at no rate.
  std::optional<netmodel::BytesPerSecond> break_even{};
  bool faster_below = true;  ///< whether the last stage is faster below break_even; otherwise above it
  bool always_faster = false;
  /// Estimates of the stages within a single step: `hybrid` for the step of the last stage that sends the most bytes,
  /// `dense_hybrid` for dense Adam's step. Absent if the workload has no embedding tables.
  std::optional<netmodel::HybridEstimate> hybrid{}, dense_hybrid{};
  std::set<std::string> extended{};  ///< warnings about extrapolated cost tables, with their ranges
};

/// Prices a job's steps on a cluster, without the break-even and the warnings. Throws ConfigError if the workers do
/// not fit the cluster.
ClusterPrice price_steps(const Job& job, const netmodel::Cluster& cluster, const netmodel::CostModel& model);

/// Prices a job on a cluster. Throws ConfigError if the workers do not fit the cluster.
ClusterPrice price_job(const Job& job, const netmodel::Cluster& cluster, const netmodel::CostModelConfig& config);

/// Returns the speed-up of the last stage over dense Adam, computed from a sample of the stage's steps if they are of
/// many kinds.
double speedup_at(const Job& job, const netmodel::Cluster& cluster, const netmodel::CostModel& model);

/// Writes a GOAL schedule of the step that sends the most bytes in the last stage. Throws IoError, and ConfigError for
/// too many messages and for steps with embedding tables.
void write_schedule(const Job& job, const netmodel::Cluster& cluster, const netmodel::CostModelConfig& config,
                    const std::string& path);

/// Returns the cluster with its network at another effective rate; the nominal rate and the stream cap change in
/// proportion.
netmodel::Cluster with_rate(netmodel::Cluster cluster, netmodel::BytesPerSecond effective);

/// Seconds from the start until the evaluated loss of a log first falls to a target (reached_at); NaN if it never does.
struct TargetSeconds {
  double seconds;
  bool is_bound;  ///< whether `seconds` is an upper bound (evaluated_at), because the evaluations are too far apart
                  ///< (is_rough)
};
TargetSeconds seconds_to_target(double target, const Job& job, const ClusterPrice& price);

}  // namespace onebit::analysis
