#pragma once
// Would it pay on my cluster? Steps of an optimizer, stage by stage, against dense Adam on the same cluster.

#include <optional>

#include "experiments/price_options.hpp"
#include "experiments/stage_traffic.hpp"

namespace onebit::experiments {

/// A stage's step on a cluster: the mean over its steps.
struct StagePrice {
  std::string stage;
  netmodel::StepEstimate step;
  double samples_per_second = 0;
};

struct ClusterPrice {
  netmodel::Cluster cluster;
  Index nodes = 1, width = 1;
  std::string basis;               ///< of the computing times
  StagePrice dense;                ///< Adam with a dense all-reduce of the gradients
  std::vector<StagePrice> stages;  ///< of the optimizer; the last one is the one that lasts
  double speedup = 1;              ///< of the last stage over dense
  double end_to_end_speedup = 1;   ///< with the warm-up stage's share
  /// Rate of a node's network link at which the last stage and dense take the same time, where there is one between
  /// 1e5 and 1e12 bytes per second; else the last stage is always faster, or never.
  std::optional<netmodel::BytesPerSecond> break_even{};
  bool always_faster = false;
};

/// What is priced, whatever the cluster: a job of so many workers.
struct Job {
  std::string name;       ///< of the workload, or the log's path
  std::string optimizer;  ///< its name
  netmodel::Workload workload;
  Index workers = 1, batch = 1, accumulation = 1;
  StageTraffic dense;                ///< Adam's
  std::vector<StageTraffic> stages;  ///< the optimizer's
  double warmup_share = 0;           ///< of the steps, before the last stage
  double gradient_bytes = 2;         ///< of an element in a dense all-reduce, unless the options say otherwise
};

/// A workload under an optimizer; workers 0: as many as the cluster has. Throws ConfigError where neither says it.
Job plan_job(const PriceConfig& config, const sim::RunConfig& run, Index workers, const netmodel::Cluster& cluster);

/// A log's own exchanges and sizes. Computing times are the simulation's, a worker's share of them, unless the options
/// give others. Throws what the reader throws.
Job job_of_log(const std::string& path, const PriceConfig& config);

/// Throws ConfigError where workers and cluster do not fit together.
ClusterPrice price_job(const Job& job, const netmodel::Cluster& cluster, const PriceConfig& config);

/// Of the last stage over dense Adam; of a sample of its steps where they differ.
double speedup_at(const Job& job, const netmodel::Cluster& cluster, const PriceConfig& config,
                  const netmodel::CostModel& model);

/// Writes the step of the last stage that sends most as a GOAL schedule. Throws IoError, and ConfigError for too many
/// messages.
void write_schedule(const Job& job, const netmodel::Cluster& cluster, const PriceConfig& config,
                    const std::string& path);

/// In units that links are sold in.
std::string rate_text(netmodel::BytesPerSecond rate);

/// A cluster whose network runs at another rate: nominal, effective and stream cap in proportion.
netmodel::Cluster with_rate(netmodel::Cluster cluster, netmodel::BytesPerSecond effective);

/// A clock that ticks with a run's steps on a cluster.
struct RunClock {
  std::string cluster;
  Index warmup_steps = 0;
  double warmup_seconds = 0, seconds = 0;  ///< of a step before and after them

  double at(Index step) const;
};

RunClock clock_of(const Job& job, const ClusterPrice& price);

/// Of a log, on every cluster; seconds are not numbers where it has no steps.
std::vector<RunClock> clocks_of(const std::string& log, const std::vector<netmodel::Cluster>& clusters,
                                const PriceConfig& config);

/// Seconds from the start until the held-out loss of a log is at most `target`; none where it never is.
std::optional<double> seconds_to_target(const std::string& path, double target, const Job& job,
                                        const ClusterPrice& price);

}  // namespace onebit::experiments
