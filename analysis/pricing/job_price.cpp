#include "analysis/pricing/job_price.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "analysis/compare/target.hpp"
#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "netmodel/step/goal.hpp"

namespace onebit::analysis {
namespace {

using netmodel::BytesPerSecond;
using netmodel::Cluster;
using netmodel::ComputeTimes;
using netmodel::CostModel;
using netmodel::Fabric;
using netmodel::Seconds;
using netmodel::StepEstimate;

ComputeTimes times_on(const Job& job, const Cluster& cluster) {
  return analysis::times_on(cluster, job.workload, job.batch, job.accumulation, job.rules);
}

constexpr double kSlowest = 1e5, kFastest = 1e12;  // bytes per second
constexpr Index kRates = 36;

/// Gains below this count as none: they are too small for the model to resolve, and would give spurious break-evens.
constexpr double kNoGain = 0.005;

/// Bisects the logarithm of the rate between two rates, exactly one of which has a gain. Returns where the gain changes
/// its sign or, if it does not, where it falls below kNoGain.
template <class Gain>
BytesPerSecond crossing(const Gain& gain, double low, double high) {
  const double at_low = gain(low), at_high = gain(high);
  const double level = (at_low > 0) != (at_high > 0) ? 0 : kNoGain;
  const bool below = at_low > level;
  while (high / low > 1 + 1e-6) {
    const double middle = std::sqrt(low * high);
    ((gain(middle) > level) == below ? low : high) = middle;
  }
  return BytesPerSecond(low);
}

/// Finds the break-even rate next to the current one: above it if the last stage is faster now, else below it; if there
/// is none on that side, the nearest one on the other side. `gain` is the last stage's speed-up minus 1; it may change
/// its sign several times, because the algorithms of exchanges change with the rate.
template <class Gain>
void find_break_even(const Gain& gain, double here, ClusterPrice& price) {
  const double factor = std::pow(kFastest / kSlowest, 1.0 / static_cast<double>(kRates));
  const bool faster = gain(here) > kNoGain;
  for (const bool up : {faster, !faster}) {
    const double end = up ? kFastest : kSlowest;
    for (double rate = here; rate != end;) {
      const double next = up ? std::min(rate * factor, end) : std::max(rate / factor, end);
      if ((gain(next) > kNoGain) != faster) {
        price.faster_below = up == faster;
        price.break_even = crossing(gain, std::min(rate, next), std::max(rate, next));
        return;
      }
      rate = next;
    }
  }
  price.always_faster = faster;
}

}  // namespace

Cluster with_rate(Cluster cluster, BytesPerSecond effective) {
  const double factor = effective / cluster.nic.effective;
  cluster.nic.effective = effective;
  cluster.nic.nominal = std::max(std::min(factor * cluster.nic.nominal, netmodel::kFastestLink), effective);
  cluster.nic.stream_cap = std::min(factor * cluster.nic.stream_cap, netmodel::kFastestLink);
  return cluster;
}

double speedup_at(const Job& job, const Cluster& cluster, const CostModel& model) {
  constexpr std::size_t enough = 16;
  const Fabric fabric(cluster, job.workers);
  const ComputeTimes compute = times_on(job, cluster);
  const netmodel::StepOptions options = step_options(job.rules);
  const StepPricer dense(compute, fabric, model, options, hybrid_of(job, true)),
      price(compute, fabric, model, options, hybrid_of(job, false));
  return dense.mean(job.dense.sample(enough)).step / price.mean(job.stages.back().sample(enough)).step;
}

static const netmodel::StepTraffic& busiest_step(const StageTraffic& stage) {
  const auto bytes = [](const StageTraffic::StepKind& kind) { return netmodel::sent_bytes(kind.traffic.exchanges); };
  return std::max_element(stage.kinds.begin(), stage.kinds.end(),
                          [&](const auto& a, const auto& b) { return bytes(a) < bytes(b); })
      ->traffic;
}

void write_schedule(const Job& job, const Cluster& cluster, const netmodel::CostModelConfig& config,
                    const std::string& path) {
  if (job.workload.tables.count > 0)
    throw ConfigError("no GOAL schedule can be written for steps with embedding tables", "goal", "leave it out");
  const Fabric fabric(cluster, job.workers);
  const auto model = netmodel::make_cost_model(config);
  const ComputeTimes compute = times_on(job, cluster);
  const netmodel::StepTraffic& busiest = busiest_step(job.stages.back());
  const netmodel::StepOptions options = step_options(job.rules);
  const StepEstimate step = netmodel::estimate_step(compute, busiest, fabric, *model, options);
  const auto plans = netmodel::step_plans(busiest, fabric, *model, options);
  std::ostringstream schedule;
  netmodel::write_goal(schedule, plans, step.forward + step.backward, step.codec + step.optimizer, fabric);
  files::write(path, schedule.view());
}

/// Returns the mean step of the stages before the last one. Stages of a planned run are weighted by their steps; other
/// stages have equal weights.
static Seconds mean_before_last(const ClusterPrice& price, const Job& job) {
  Seconds sum;
  double weights = 0;
  for (std::size_t i = 0; i + 1 < price.stages.size(); ++i) {
    const double weight = job.schedule ? static_cast<double>(job.stages[i].steps()) : 1;
    sum += weight * price.stages[i].step.step;
    weights += weight;
  }
  return 1 / weights * sum;
}

/// Returns the speed-up of the whole run. Stages are weighted by their steps in the log; without a log, by the warm-up
/// share.
static double end_to_end(const ClusterPrice& price, const Job& job) {
  if (price.timeline) {
    Index steps = 0;
    for (const StageTime& stage : price.timeline->stages()) steps += stage.steps;
    return static_cast<double>(steps) * price.dense.step.step.value / price.timeline->at(steps);
  }
  if (price.stages.size() < 2) return price.speedup;
  const Seconds before = mean_before_last(price, job), last = price.stages.back().step.step;
  return price.dense.step.step / before * netmodel::mixed_speedup(job.warmup_share, before / last);
}

/// Returns the bytes of the largest part of the embedding tables that a GPU holds; 0: not known, or none.
static netmodel::Bytes most_held(const Job& job) {
  double most = 0;
  if (job.workload.tables.count == 0) return {};
  for (const auto& share : netmodel::shares_of(job.workload.tables, job.rules.hybrid.split, job.workers)) {
    most = std::max(most, share.held_bytes);
  }
  return netmodel::Bytes(most);
}

ClusterPrice price_steps(const Job& job, const Cluster& cluster, const CostModel& model) {
  const Fabric fabric(cluster, job.workers);
  ClusterPrice price;
  const ComputeTimes compute = times_on(job, cluster);
  price.cluster = cluster;
  price.nodes = fabric.nodes();
  price.width = fabric.width();
  price.basis = compute.basis;
  if (!job.log) {
    const bool compresses = std::ranges::any_of(job.stages, &StageTraffic::compressed);
    price.memory = netmodel::memory_of(job.workload, job.batch, compresses, fabric, job.rules.step.sharding);
    price.memory->tables = most_held(job);
  }
  const auto samples = static_cast<double>(job.workers * job.batch * job.accumulation);
  const netmodel::StepOptions options = step_options(job.rules);
  const StepPricer dense(compute, fabric, model, options, hybrid_of(job, true)),
      pricer(compute, fabric, model, options, hybrid_of(job, false));
  const auto priced = [&](const std::string& stage, const StepEstimate& step) {
    return StagePrice{stage, step, samples / step.step.value};
  };
  price.dense = priced(job.dense.name, dense.mean(job.dense));
  if (job.workload.tables.count > 0) {
    price.dense_hybrid = dense.hybrid(busiest_step(job.dense));
    price.hybrid = pricer.hybrid(busiest_step(job.stages.back()));
  }
  if (job.log) {
    price.timeline.emplace(size_of(job.log->summary), job.log->exchanges, cluster, model, job.rules);
    for (const StageTime& stage : price.timeline->stages()) price.stages.push_back(priced(stage.stage, stage.step));
  } else {
    for (const StageTraffic& stage : job.stages) price.stages.push_back(priced(stage.name, pricer.mean(stage)));
  }
  price.speedup = price.dense.step.step / price.stages.back().step.step;
  price.end_to_end_speedup = end_to_end(price, job);
  return price;
}

ClusterPrice price_job(const Job& job, const Cluster& cluster, const netmodel::CostModelConfig& config) {
  std::set<std::string> extended;
  netmodel::CostModelConfig model_config = config;
  model_config.on_extended = [&](const std::string& text) {
    extended.insert(text);
    config.on_extended(text);
  };
  const auto model = netmodel::make_cost_model(model_config);
  ClusterPrice price = price_steps(job, cluster, *model);
  const auto gain = [&](double rate) { return speedup_at(job, with_rate(cluster, BytesPerSecond(rate)), *model) - 1; };
  find_break_even(gain, std::clamp(cluster.nic.effective.value, kSlowest, kFastest), price);
  price.extended = extended;
  return price;
}

TargetSeconds seconds_to_target(double target, const Job& job, const ClusterPrice& price) {
  std::vector<double> steps, seconds, losses;
  for (const sim::EvaluationRow& row : job.log->evaluations) {
    steps.push_back(static_cast<double>(row.step));
    seconds.push_back(price.timeline->at(row.step));
    losses.push_back(row.loss);
  }
  const bool rough = is_rough(steps, losses, target);
  return {rough ? evaluated_at(seconds, losses, target) : reached_at(seconds, losses, target), rough};
}

}  // namespace onebit::analysis
