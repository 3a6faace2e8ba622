#include "analysis/pricing/job.hpp"

#include <cmath>

#include "analysis/log/log_options.hpp"
#include "analysis/pricing/stage_traffic.hpp"
#include "device/base/error.hpp"
#include "netmodel/cluster/fabric.hpp"
#include "optim/two_stage/freeze.hpp"
#include "sim/log/reader.hpp"

namespace onebit::analysis {
namespace {

StageTraffic dense_adam(Index workers, Index parameters) {
  optim::OptimizerConfig adam;
  adam.name = "adam";
  return plan_stages(adam, workers, parameters).front();
}

double warmup_share(const JobPlan& plan) {
  constexpr double usual = 0.15;
  if (!std::isnan(plan.warmup_share)) return plan.warmup_share;
  return optim::freeze_fraction(plan.run.optimizer.freeze.policy).value_or(usual);
}

}  // namespace

Job plan_job(const JobPlan& plan, const netmodel::Cluster& cluster) {
  netmodel::check(cluster);
  Job job;
  job.optimizer = plan.run.optimizer.name;
  job.rules = plan.rules;
  job.workload = plan.rules.workload.value();
  job.name = job.workload.name;
  if (plan.parameters > 0) job.workload.parameters = plan.parameters;
  if (job.workload.parameters == 0)
    throw ConfigError("the workload has no parameters", job.name, "give their number with --step.parameters");
  job.workers = plan.workers > 0 ? plan.workers : cluster.nodes * cluster.gpus_per_node;
  if (job.workers == 0)
    throw ConfigError("the number of workers is not known", "cluster " + cluster.name,
                      "give --workers or --cluster.nodes");
  netmodel::check_workers(cluster, job.workers);
  job.batch = plan.run.batch;
  job.accumulation = plan.run.accumulation;
  job.dense = dense_adam(job.workers, job.workload.parameters);
  job.stages = plan_stages(plan.run.optimizer, job.workers, job.workload.parameters);
  job.warmup_share = job.stages.size() > 1 ? warmup_share(plan) : 0;
  return job;
}

Job job_of_log(const std::string& path, const PriceRules& rules) {
  const sim::LogReader log(path);
  if (log.committed_rows() == 0) throw ConfigError("the log has no steps yet", path);
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
  job.dense = dense_adam(job.workers, run.parameters);
  job.stages = stages_of(job.log->exchanges, run.parameters);
  Index steps = 0;
  for (const StageTraffic& stage : job.stages) steps += stage.steps();
  job.warmup_share = 1 - static_cast<double>(job.stages.back().steps()) / static_cast<double>(steps);
  return job;
}

}  // namespace onebit::analysis
