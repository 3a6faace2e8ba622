#pragma once
// Jobs, which are priced on clusters: a workload or a log, an optimizer, and a number of workers.

#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/arms.hpp"
#include "analysis/log/timeline.hpp"
#include "sim/run/config.hpp"

namespace onebit::analysis {

/// Length of the run over which a stage's traffic is averaged, for optimizers with their own schedule.
struct ScheduledRun {
  Index steps = 0;
  bool assumed = false;  ///< whether the steps were not given
};

struct Job {
  std::string name;       ///< name of the workload, or the log's path
  std::string optimizer;  ///< name of the optimizer
  netmodel::Workload workload;
  Index workers = 1, batch = 1, accumulation = 1;
  StageTraffic dense;                      ///< traffic of dense Adam; if has_boundary(), also that at the boundary
  std::vector<StageTraffic> stages;        ///< traffic of the optimizer's stages
  double warmup_share = 0;                 ///< share of the steps before the last stage
  std::optional<ScheduledRun> schedule{};  ///< present if the stages hold the steps of a planned run
  PriceRules rules;
  std::optional<Run> log{};  ///< the log's run, if a log is priced
};

/// A job that has not been run.
struct JobPlan {
  PriceRules rules;      ///< pricing rules, which must contain a workload
  Index parameters = 0;  ///< number of parameters to use instead of the workload's; 0: keep the workload's
  /// Share of the steps that come before the last stage; NaN: the share that the freeze policy gives, or 0.15 if it
  /// gives none. For an optimizer with its own schedule, this share determines the length of the run, unless the run's
  /// steps are given.
  double warmup_share = PriceRules::kNotGiven;
  Index workers = 0;   ///< number of workers; 0: as many as the cluster's GPUs
  sim::RunConfig run;  ///< run whose optimizer, batch, accumulation and steps are used
};

/// Whether the job runs dense Adam, the baseline with which other jobs are compared.
bool is_dense_adam(const Job& job);

/// Whether the job is the log of a run whose workers exchange activations. Dense Adam is then priced with the same
/// activations, since a log does not show how many bytes they would have without a codec.
bool has_boundary(const Job& job);

/// Returns what a job's steps do with embedding tables; empty if its workload has none. dense: whether to return the
/// work of dense Adam's steps, which uses neither the codec nor the model_ratio of HybridRules unless
/// HybridRules::same_boundary is set. Throws what boundary_of throws.
std::optional<netmodel::HybridWork> hybrid_of(const Job& job, bool dense);

/// Plans the exchanges of a job. Throws ConfigError if
/// - neither the plan nor the cluster gives a number of workers,
/// - the workload has no parameters,
/// - the workload has embedding tables, and either these cannot be split over the workers or a step has several
///   micro-batches,
/// - an optimizer with its own schedule is given both the number of steps and the share of steps before the last stage,
/// - the exchanges cannot be planned (plan_stages).
Job plan_job(const JobPlan& plan, const netmodel::Cluster& cluster);

/// Makes a job from a log's exchanges and sizes. Compute times are one worker's share of those measured in the
/// simulation, unless the rules give others. Throws what the reader and check_fits throw, and ConfigError for a log
/// without steps.
Job job_of_log(const std::string& path, const PriceRules& rules);

}  // namespace onebit::analysis
