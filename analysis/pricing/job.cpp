#include "analysis/pricing/job.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "analysis/log/log_options.hpp"
#include "analysis/pricing/boundary.hpp"
#include "analysis/pricing/stage_traffic.hpp"
#include "device/base/error.hpp"
#include "netmodel/cluster/fabric.hpp"
#include "optim/optimizer.hpp"
#include "optim/two_stage/freeze.hpp"
#include "sim/log/reader.hpp"

namespace onebit::analysis {
namespace {

StageTraffic dense_adam(Index workers, Index parameters) {
  optim::OptimizerConfig adam;
  adam.name = "adam";
  return plan_stages({.optimizer = adam, .workers = workers, .parameters = parameters}).front();
}

double warmup_share(const JobPlan& plan) {
  constexpr double usual = 0.15;
  if (!std::isnan(plan.warmup_share)) return plan.warmup_share;
  return optim::freeze_fraction(plan.run.optimizer.freeze.policy).value_or(usual);
}

/// Returns the length of the run that the plan describes, or else a usual length. Empty for an optimizer without a
/// schedule.
std::optional<ScheduledRun> scheduled_run(const JobPlan& plan) {
  const optim::StepSchedule* schedule = optim::schedule_of(plan.run.optimizer.name);
  if (schedule == nullptr) return std::nullopt;
  if (plan.run.steps > 0) {
    if (std::isnan(plan.warmup_share)) return ScheduledRun{plan.run.steps, false};
    throw ConfigError("the schedule of " + plan.run.optimizer.name + " determines how many of its steps are warm-up",
                      "step.warmup-share, steps " + std::to_string(plan.run.steps), "give only one of the two");
  }
  const double share = warmup_share(plan);
  if (!(share > 0)) {
    throw ConfigError("every run of " + plan.run.optimizer.name + " has warm-up steps", "step.warmup-share 0",
                      "give a share above 0, or --steps");
  }
  return ScheduledRun{schedule->usual_steps(plan.run.optimizer, share), true};
}

double share_before_last(const std::vector<StageTraffic>& stages) {
  Index steps = 0;
  for (const StageTraffic& stage : stages) steps += stage.steps();
  return 1 - static_cast<double>(stages.back().steps()) / static_cast<double>(steps);
}

/// Sets the stages of a job that was not run, and the share of the steps before the last stage.
void plan_optimizer(const JobPlan& plan, Job& job) {
  job.schedule = scheduled_run(plan);
  job.stages = plan_stages({.optimizer = plan.run.optimizer,
                            .workers = job.workers,
                            .parameters = job.workload.parameters,
                            .tensors = job.workload.tensors,
                            .steps = job.schedule ? job.schedule->steps : 1});
  if (job.schedule) {
    job.warmup_share = share_before_last(job.stages);
  } else {
    job.warmup_share = job.stages.size() > 1 ? warmup_share(plan) : 0;
  }
}

/// Divides the bytes that an optimizer's steps send by a ratio.
void shrink(std::vector<StageTraffic>& stages, double ratio) {
  for (StageTraffic& stage : stages) {
    for (StageTraffic::StepKind& kind : stage.kinds) {
      for (netmodel::Traffic& each : kind.traffic.exchanges) {
        each.payload_bytes = std::llround(static_cast<double>(each.payload_bytes) / ratio);
      }
    }
  }
}

/// Whether every worker of the log's run computes the gradients from the whole batch, so that none are exchanged.
bool has_whole_batch(const Job& job) {
  const std::string name = option_of(job.log->header, "model").value_or("");
  const auto model = std::ranges::find(sim::models(), name, &sim::ModelEntry::name);
  return model != sim::models().end() && model->whole_batch;
}

/// Returns the steps of dense Adam, with what the log's run exchanged at its boundary.
StageTraffic with_boundary(const Job& job) {
  StageTraffic dense{job.dense.name, {}, job.dense.compressed};
  const netmodel::StepTraffic gradients =
      has_whole_batch(job) ? netmodel::StepTraffic{} : job.dense.kinds.front().traffic;
  for (const StageTraffic& stage : job.stages) {
    for (const StageTraffic::StepKind& kind : stage.kinds) {
      netmodel::StepTraffic step = gradients;
      std::ranges::copy_if(kind.traffic.exchanges, std::back_inserter(step.exchanges), netmodel::is_of_boundary);
      dense.add(std::move(step), kind.count);
    }
  }
  return dense;
}

/// Throws if the steps of a workload with embedding tables cannot be priced.
void check_tables(const Job& job) {
  if (job.accumulation > 1) {
    throw ConfigError("several micro-batches per step are not supported for workloads with embedding tables",
                      "accumulation " + std::to_string(job.accumulation), "give a larger --batch");
  }
  const netmodel::HybridWork work{.tables = job.workload.tables, .split = job.rules.hybrid.split};
  netmodel::check(work, job.workers, job.rules.step);
}

}  // namespace

bool is_dense_adam(const Job& job) {
  const HybridRules& rules = job.rules.hybrid;
  const bool tables =
      job.workload.tables.count > 0 && !rules.same_boundary && (rules.codec != kNoCodec || rules.model_ratio != 1);
  return job.optimizer == "adam" && !tables && rules.data_ratio == 1;
}

bool has_boundary(const Job& job) {
  return job.log && std::isfinite(job.log->summary.boundary_bytes);
}

std::optional<netmodel::HybridWork> hybrid_of(const Job& job, bool dense) {
  const netmodel::EmbeddingTables& tables = job.workload.tables;
  if (tables.count == 0) return std::nullopt;
  netmodel::HybridWork work{.tables = tables, .split = job.rules.hybrid.split, .batch = job.batch};
  if (dense && !job.rules.hybrid.same_boundary) return work;
  const std::vector<netmodel::TableShare> shares = netmodel::shares_of(tables, work.split, job.workers);
  work.boundary = boundary_of(job.rules.hybrid, job.batch * static_cast<Index>(shares.front().values));
  return work;
}

Job plan_job(const JobPlan& plan, const netmodel::Cluster& cluster) {
  netmodel::check(cluster);
  Job job;
  job.optimizer = plan.run.optimizer.name;
  job.rules = plan.rules;
  job.workload = plan.rules.workload.value();
  job.name = job.workload.name;
  if (plan.parameters > 0 && plan.parameters != job.workload.parameters) {
    job.workload.parameters = plan.parameters;
    job.workload.tensors.clear();
  }
  if (job.workload.parameters == 0)
    throw ConfigError("the workload has no parameters", job.name, "give their number with --step.parameters");
  job.workers = plan.workers > 0 ? plan.workers : cluster.nodes * cluster.gpus_per_node;
  if (job.workers == 0)
    throw ConfigError("the number of workers is not known", "cluster " + cluster.name,
                      "give --workers or --cluster.nodes");
  netmodel::check_workers(cluster, job.workers);
  job.batch = plan.run.batch;
  job.accumulation = plan.run.accumulation;
  if (job.workload.tables.count > 0) check_tables(job);
  job.dense = dense_adam(job.workers, job.workload.parameters);
  plan_optimizer(plan, job);
  shrink(job.stages, job.rules.hybrid.data_ratio);
  return job;
}

Job job_of_log(const std::string& path, const PriceRules& rules) {
  const sim::LogReader log(path);
  if (log.committed_rows() == 0)
    throw ConfigError("the log has no steps yet", path, "wait until its run has trained a few");
  if (is_compact(log)) {
    throw ConfigError("the log has no exchanges to price", path,
                      "it is the replay of a compact trace, which only shows when the variance may be frozen");
  }
  Job job;
  job.log = load_run(log);
  const Summary& run = job.log->summary;
  job.name = path;
  job.optimizer = option_of(job.log->header, "optimizer").value_or("");
  job.workers = run.workers;
  job.batch = run.batch;
  job.rules = rules;
  if (job.rules.workload) check_fits(*job.rules.workload, run.parameters, path);
  job.workload = workload_of(size_of(run), job.rules);
  job.stages = stages_of(job.log->exchanges, {run.parameters, run.passes});
  job.dense = dense_adam(job.workers, run.parameters);
  if (has_boundary(job)) job.dense = with_boundary(job);
  job.warmup_share = share_before_last(job.stages);
  return job;
}

}  // namespace onebit::analysis
