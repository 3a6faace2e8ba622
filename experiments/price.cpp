#include "experiments/price.hpp"

#include <cmath>
#include <fstream>

#include "device/error.hpp"
#include "experiments/output.hpp"
#include "netmodel/goal.hpp"
#include "sim/log/reader.hpp"

namespace onebit::experiments {
namespace {

using netmodel::BytesPerSecond;
using netmodel::Cluster;
using netmodel::ComputeTimes;
using netmodel::CostModel;
using netmodel::Fabric;
using netmodel::Seconds;
using netmodel::StepEstimate;

ComputeTimes times_on(const Job& job, const Cluster& cluster, const PriceConfig& config) {
  ComputeTimes times =
      netmodel::compute_times(job.workload, netmodel::find_gpu(cluster.gpu), job.batch, job.accumulation);
  bool given = false;
  const auto replace = [&](Seconds& time, Seconds by) {
    if (std::isnan(by.value)) return;
    time = by;
    given = true;
  };
  replace(times.forward, config.forward);
  replace(times.backward, config.backward);
  replace(times.optimizer, config.optimizer);
  if (!std::isnan(config.backward.value)) {
    times.last_backward = 1 / static_cast<double>(job.accumulation) * config.backward;
  }
  if (given) times.basis += times.basis.empty() ? "given" : ", or given";
  return times;
}

/// Adds the parts of a step, so many times.
void add(StepEstimate& sum, const StepEstimate& step, double times) {
  for (const auto part :
       {&StepEstimate::step, &StepEstimate::forward, &StepEstimate::backward, &StepEstimate::optimizer,
        &StepEstimate::codec, &StepEstimate::communication, &StepEstimate::all_communication}) {
    sum.*part += times * (step.*part);
  }
  sum.exchange.nic_bytes += times * step.exchange.nic_bytes;
  if (step.exchange.at_bottleneck >= sum.exchange.at_bottleneck) {
    sum.exchange.at_bottleneck = step.exchange.at_bottleneck;
    sum.exchange.bottleneck = step.exchange.bottleneck;
    sum.algorithm = step.algorithm;
    sum.reason = step.reason;
  }
}

/// Prices on one fabric.
struct Pricer {
  const ComputeTimes& compute;
  const Fabric& fabric;
  const CostModel& model;
  netmodel::StepOptions options;

  /// The mean over the steps.
  StepEstimate operator()(const StageTraffic& stage) const {
    StepEstimate mean;
    const auto steps = static_cast<double>(stage.steps());
    for (const StageTraffic::Run& run : stage.runs) {
      add(mean, netmodel::estimate_step(compute, run.traffic, fabric, model, options),
          static_cast<double>(run.count) / steps);
    }
    return mean;
  }
};

StageTraffic dense_adam(Index workers, Index parameters) {
  optim::OptimizerConfig adam;
  adam.name = "adam";
  return plan_stages(adam, workers, parameters).front();
}

netmodel::StepOptions options_for(const Job& job, const PriceConfig& config) {
  netmodel::StepOptions options = config.step;
  options.gradient_bytes = config.gradient_bytes > 0 ? config.gradient_bytes : job.gradient_bytes;
  return options;
}

/// Bisects the logarithm of the rate; `gain` is the last stage's speed-up less 1.
template <class Gain>
void find_break_even(const Gain& gain, ClusterPrice& price) {
  double low = 1e5, high = 1e12;
  price.always_faster = gain(high) > 0;
  if (price.always_faster || !(gain(low) > 0)) return;
  while (high / low > 1 + 1e-6) {
    const double middle = std::sqrt(low * high);
    (gain(middle) > 0 ? low : high) = middle;
  }
  price.break_even = BytesPerSecond(low);
}

/// The warm-up stage of a log ends before its first compressed step.
std::vector<StageTraffic> stages_of(const sim::LogReader& log, Index steps, Index parameters) {
  std::vector<netmodel::StepTraffic> all(static_cast<std::size_t>(steps));
  for (const sim::StepTraffic& row : log.traffic()) {
    if (row.step >= 1 && row.step <= steps) {
      all[static_cast<std::size_t>(row.step - 1)].exchanges.push_back(row.traffic);
    }
  }
  std::vector<StageTraffic> stages;
  for (netmodel::StepTraffic& step : all) {
    if (!is_dense(step.exchanges)) step.compressed = parameters;
    const bool begins = stages.empty() || (stages.size() == 1 && stages[0].name == "dense" && step.compressed > 0);
    if (begins) stages.push_back({step.compressed > 0 ? "compression" : "dense", {}});
    stages.back().add(std::move(step));
  }
  if (stages.size() > 1) stages.front().name = "warmup";
  return stages;
}

/// A third of it forward, as usual.
netmodel::Workload workload_of(const std::vector<sim::StepRow>& rows, Index workers, Index parameters) {
  double seconds = 0;
  for (const sim::StepRow& row : rows) seconds += std::isfinite(row.compute_seconds) ? row.compute_seconds : 0;
  seconds /= static_cast<double>(rows.back().step) * static_cast<double>(workers);
  netmodel::Workload workload;
  workload.doc = "the simulation's, a worker's share";
  workload.source = netmodel::Source::estimated;
  workload.parameters = parameters;
  workload.batches = {{"", 1, Seconds(seconds / 3), Seconds(seconds * 2 / 3)}};
  return workload;
}

}  // namespace

Cluster with_rate(Cluster cluster, BytesPerSecond effective) {
  const double factor = effective / cluster.nic.effective;
  cluster.nic.effective = effective;
  cluster.nic.nominal = std::min(factor * cluster.nic.nominal, netmodel::kFastestLink);
  cluster.nic.stream_cap = std::min(factor * cluster.nic.stream_cap, netmodel::kFastestLink);
  return cluster;
}

static double warmup_share(const PriceConfig& config, const std::string& freeze) {
  constexpr double usual = 0.15;
  const std::string fraction = "fraction:";
  if (!std::isnan(config.warmup_share)) return config.warmup_share;
  return freeze.starts_with(fraction) ? parse_real("freeze", freeze.substr(fraction.size())) : usual;
}

Job plan_job(const PriceConfig& config, const sim::RunConfig& run, Index workers, const Cluster& cluster) {
  Job job;
  job.optimizer = run.optimizer.name;
  job.workload = load_workload(config.workload);
  job.name = job.workload.name;
  if (config.parameters > 0) job.workload.parameters = config.parameters;
  if (job.workload.parameters == 0) {
    throw ConfigError("a workload without parameters", config.workload, "--step.parameters says how many");
  }
  job.workers = workers > 0 ? workers : cluster.nodes * cluster.gpus_per_node;
  if (job.workers == 0) {
    throw ConfigError("how many workers?", "cluster " + cluster.name, "--cluster.nodes or --workers says it");
  }
  job.batch = run.batch;
  job.accumulation = run.accumulation;
  job.dense = dense_adam(job.workers, job.workload.parameters);
  job.stages = plan_stages(run.optimizer, job.workers, job.workload.parameters);
  job.warmup_share = job.stages.size() > 1 ? warmup_share(config, run.optimizer.freeze.policy) : 0;
  return job;
}

Job job_of_log(const std::string& path, const PriceConfig& config) {
  const sim::LogReader log(path);
  const std::vector<sim::StepRow> rows = log.steps();
  if (rows.empty()) throw ConfigError("the log has no steps yet", path);
  Job job;
  job.name = path;
  for (const auto& [option, value] : log.header().config) {
    if (option == "optimizer") job.optimizer = value;
  }
  job.workers = log.header().workers;
  Index parameters = 0;
  for (const sim::TensorInfo& tensor : log.header().tensors) parameters += tensor.size;
  job.workload = config.workload.empty() ? workload_of(rows, job.workers, parameters) : load_workload(config.workload);
  job.workload.parameters = parameters;
  job.batch = std::max<Index>(1, rows.back().samples / rows.back().step / job.workers);
  if (config.workload.empty()) job.workload.batches.front().batch = static_cast<double>(job.batch);
  job.gradient_bytes = sizeof(float);  // as they were sent
  job.dense = dense_adam(job.workers, parameters);
  job.stages = stages_of(log, rows.back().step, parameters);
  if (job.stages.size() > 1) {
    job.warmup_share = static_cast<double>(job.stages.front().steps()) / static_cast<double>(rows.back().step);
  }
  return job;
}

std::string rate_text(BytesPerSecond rate) {
  const double gigabits = 8 * rate.value / 1e9;
  return gigabits < 1 ? number(1e3 * gigabits, 4) + " Mb/s" : number(gigabits, 4) + " Gb/s";
}

double speedup_at(const Job& job, const Cluster& cluster, const PriceConfig& config, const CostModel& model) {
  constexpr std::size_t enough = 16;
  const Fabric fabric(cluster, job.workers);
  const ComputeTimes compute = times_on(job, cluster, config);
  const Pricer price{compute, fabric, model, options_for(job, config)};
  return price(job.dense.sample(enough)).step / price(job.stages.back().sample(enough)).step;
}

static const netmodel::StepTraffic& busiest_step(const StageTraffic& stage) {
  const auto bytes = [](const StageTraffic::Run& run) { return netmodel::sent_bytes(run.traffic.exchanges); };
  return std::max_element(stage.runs.begin(), stage.runs.end(),
                          [&](const auto& a, const auto& b) { return bytes(a) < bytes(b); })
      ->traffic;
}

void write_schedule(const Job& job, const Cluster& cluster, const PriceConfig& config, const std::string& path) {
  const Fabric fabric(cluster, job.workers);
  const auto model = netmodel::make_cost_model(config.cost_model);
  const ComputeTimes compute = times_on(job, cluster, config);
  const auto plans = netmodel::step_plans(busiest_step(job.stages.back()), fabric, *model, options_for(job, config));
  std::ofstream file(path);
  netmodel::write_goal(file, plans, compute.forward + compute.backward, fabric);
  if (!file.flush()) throw IoError("cannot write the schedule", path);
}

/// The stages before the last one share the steps before it.
static double end_to_end(const ClusterPrice& price, double share) {
  if (price.stages.size() < 2) return price.speedup;
  Seconds before;
  for (std::size_t i = 0; i + 1 < price.stages.size(); ++i) before += price.stages[i].step.step;
  before = 1 / static_cast<double>(price.stages.size() - 1) * before;
  const Seconds last = price.stages.back().step.step;
  return price.dense.step.step / before * netmodel::mixed_speedup(share, before / last);
}

ClusterPrice price_job(const Job& job, const Cluster& cluster, const PriceConfig& config) {
  const Fabric fabric(cluster, job.workers);
  const auto model = netmodel::make_cost_model(config.cost_model);
  const ComputeTimes compute = times_on(job, cluster, config);
  ClusterPrice price;
  price.cluster = cluster;
  price.nodes = fabric.nodes();
  price.width = fabric.width();
  price.basis = compute.basis;
  const auto samples = static_cast<double>(job.workers * job.batch * job.accumulation);
  const Pricer pricer{compute, fabric, *model, options_for(job, config)};
  const auto priced = [&](const StageTraffic& stage) {
    const StepEstimate step = pricer(stage);
    return StagePrice{stage.name, step, samples / step.step.value};
  };
  price.dense = priced(job.dense);
  for (const StageTraffic& stage : job.stages) price.stages.push_back(priced(stage));
  price.speedup = price.dense.step.step / price.stages.back().step.step;
  price.end_to_end_speedup = end_to_end(price, job.warmup_share);
  const auto gain = [&](double rate) {
    return speedup_at(job, with_rate(cluster, BytesPerSecond(rate)), config, *model) - 1;
  };
  find_break_even(gain, price);
  return price;
}

double RunClock::at(Index step) const {
  const Index before = std::min(step, warmup_steps);
  return static_cast<double>(before) * warmup_seconds + static_cast<double>(step - before) * seconds;
}

RunClock clock_of(const Job& job, const ClusterPrice& price) {
  return {.cluster = price.cluster.name,
          .warmup_steps = job.stages.size() > 1 ? job.stages.front().steps() : 0,
          .warmup_seconds = price.stages.front().step.step.value,
          .seconds = price.stages.back().step.step.value};
}

std::vector<RunClock> clocks_of(const std::string& log, const std::vector<Cluster>& clusters,
                                const PriceConfig& config) {
  std::vector<RunClock> clocks;
  if (sim::LogReader(log).committed_rows() == 0) {
    for (const Cluster& cluster : clusters) {
      clocks.push_back({cluster.name, 0, PriceConfig::kNotGiven, PriceConfig::kNotGiven});
    }
    return clocks;
  }
  const Job job = job_of_log(log, config);
  for (const Cluster& cluster : clusters) clocks.push_back(clock_of(job, price_job(job, cluster, config)));
  return clocks;
}

std::optional<double> seconds_to_target(const std::string& path, double target, const Job& job,
                                        const ClusterPrice& price) {
  const sim::LogReader log(path);
  for (const sim::EvaluationRow& row : log.evaluations()) {
    if (row.loss <= target) return clock_of(job, price).at(row.step);
  }
  return std::nullopt;
}

}  // namespace onebit::experiments
