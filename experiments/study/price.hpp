#pragma once
// Would it pay on my cluster? Steps of an optimizer, stage by stage, against dense Adam on the same cluster.

#include <optional>
#include <set>

#include "analysis/compare/arms.hpp"
#include "experiments/options/price_options.hpp"
#include "experiments/study/stage_traffic.hpp"

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
  double end_to_end_speedup = 1;   ///< with the stages before the last one: by their share, of a log by its steps
  std::optional<analysis::Timeline> timeline{};  ///< of a log
  /// Rate of a node's network link at which the last stage and dense take the same time, where there is one between
  /// 1e5 and 1e12 bytes per second; else the last stage is always faster, or never.
  std::optional<netmodel::BytesPerSecond> break_even{};
  bool always_faster = false;
  std::set<std::string> extended{};  ///< where a table of measurements was extended, and what it holds; empty: nowhere
};

/// What is priced, whatever the cluster: a job of so many workers.
struct Job {
  std::string name;       ///< of the workload, or the log's path
  std::string optimizer;  ///< its name
  netmodel::Workload workload;
  Index workers = 1, batch = 1, accumulation = 1;
  analysis::StageTraffic dense;                ///< Adam's
  std::vector<analysis::StageTraffic> stages;  ///< the optimizer's
  double warmup_share = 0;                     ///< of the steps, before the last stage
  analysis::PriceRules rules;                  ///< of the options
  std::optional<analysis::Run> log{};          ///< where one is priced
};

/// gradient_bytes: of an element in a dense all-reduce, unless the options say otherwise. Throws what load_workload
/// throws.
analysis::PriceRules rules_of(const PriceConfig& config, double gradient_bytes = sizeof(float));

/// A workload under an optimizer; workers 0: as many as the cluster has. Throws ConfigError where neither says it.
Job plan_job(const PriceConfig& config, const sim::RunConfig& run, Index workers, const netmodel::Cluster& cluster);

/// A log's own exchanges and sizes. Computing times are the simulation's, a worker's share of them, unless the options
/// give others. Throws what the reader throws, and what analysis::check_fits does.
Job job_of_log(const std::string& path, const PriceConfig& config);

/// Throws ConfigError where workers and cluster do not fit together.
ClusterPrice price_job(const Job& job, const netmodel::Cluster& cluster, const PriceConfig& config);

/// Of the last stage over dense Adam; of a sample of its steps where they differ.
double speedup_at(const Job& job, const netmodel::Cluster& cluster, const netmodel::CostModel& model);

/// Writes the step of the last stage that sends most as a GOAL schedule. Throws IoError, and ConfigError for too many
/// messages.
void write_schedule(const Job& job, const netmodel::Cluster& cluster, const PriceConfig& config,
                    const std::string& path);

/// In units that links are sold in.
std::string rate_text(netmodel::BytesPerSecond rate);

/// A cluster whose network runs at another rate: nominal, effective and stream cap in proportion.
netmodel::Cluster with_rate(netmodel::Cluster cluster, netmodel::BytesPerSecond effective);

/// Seconds from the start until the evaluated loss of a log came down to `target` (analysis::reached_at); none where it
/// never does.
std::optional<double> seconds_to_target(double target, const Job& job, const ClusterPrice& price);

}  // namespace onebit::experiments
