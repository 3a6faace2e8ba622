#include "analysis/log/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>

#include "device/base/error.hpp"

namespace onebit::analysis {
namespace {

using netmodel::ComputeTimes;
using netmodel::Seconds;
using netmodel::StepEstimate;

/// Adds the parts of a step, each multiplied by `times`.
void add(StepEstimate& sum, const StepEstimate& step, double times) {
  for (const auto part :
       {&StepEstimate::step, &StepEstimate::forward, &StepEstimate::backward, &StepEstimate::optimizer,
        &StepEstimate::codec, &StepEstimate::communication, &StepEstimate::all_communication}) {
    sum.*part += times * (step.*part);
  }
  for (const auto part : {&netmodel::Estimate::total, &netmodel::Estimate::latency, &netmodel::Estimate::bandwidth}) {
    sum.exchange.*part += times * (step.exchange.*part);
  }
  sum.exchange.nic_bytes += times * step.exchange.nic_bytes;
  if (step.exchange.at_bottleneck >= sum.exchange.at_bottleneck) {
    sum.exchange.at_bottleneck = step.exchange.at_bottleneck;
    sum.exchange.bottleneck = step.exchange.bottleneck;
    sum.algorithm = step.algorithm;
    sum.reason = step.reason;
  }
}

/// Seconds per step of recurring ranges; each kind is priced once.
class StepSeconds {
 public:
  explicit StepSeconds(const StepPricer& pricer) : pricer_(pricer) {}

  double of(const StepRange& range, const Encoding& encoding) {
    const netmodel::StepTraffic step = traffic_of(range, encoding);
    for (const Kind& kind : kinds_) {
      if (kind.compressed == step.compressed && kind.gradients == step.gradients && *kind.exchanges == range.each)
        return kind.seconds;
    }
    if (kinds_.size() == kMost) kinds_.pop_front();
    kinds_.push_back({&range.each, step.compressed, step.gradients, pricer_.of(step).step.value});
    return kinds_.back().seconds;
  }

 private:
  static constexpr std::size_t kMost = 16;
  struct Kind {
    const netmodel::TrafficList* exchanges;
    Index compressed;
    bool gradients;
    double seconds;
  };
  const StepPricer& pricer_;
  std::deque<Kind> kinds_;
};

}  // namespace

bool measures_computing(const PriceRules& rules) {
  return !rules.workload && (std::isnan(rules.forward.value) || std::isnan(rules.backward.value));
}

netmodel::StepOptions step_options(const PriceRules& rules) {
  netmodel::StepOptions options = rules.step;
  if (options.overlap == netmodel::Overlap::cluster && measures_computing(rules)) {
    options.overlap = netmodel::Overlap::none;
  }
  return options;
}

bool has_size_of(const netmodel::Workload& workload, Index parameters) {
  constexpr double slack = 0.1;  // vocabularies, heads and biases differ between versions of one model
  const auto theirs = static_cast<double>(workload.parameters);
  return std::abs(static_cast<double>(parameters) - theirs) <= slack * theirs;
}

void check_fits(const netmodel::Workload& workload, Index parameters, const std::string& where) {
  if (workload.tables.count > 0) {
    throw ConfigError("the run of a log cannot be scaled to the embedding tables of this workload",
                      where + ", workload " + workload.name,
                      "price it without a log: onebit price --workload " + workload.name);
  }
  if (workload.parameters == 0 || has_size_of(workload, parameters)) return;
  throw ConfigError("the workload belongs to another model",
                    where + " has " + std::to_string(parameters) + " parameters, workload " + workload.name + " has " +
                        std::to_string(workload.parameters),
                    "leave it out and give times with --step.forward and --step.backward; 'onebit price --workload " +
                        workload.name + "' without a log prices the workload's own exchanges");
}

netmodel::Workload workload_of(const RunSize& run, const PriceRules& rules) {
  netmodel::Workload workload;
  if (rules.workload) {
    check_fits(*rules.workload, run.parameters, "the run");
    workload = *rules.workload;
  } else {
    workload.doc =
        run.compute_seconds > 0 ? "measured in the simulation, one worker's share" : "not recorded, so counted as 0";
    workload.source = netmodel::Source::estimated;
    workload.batches = {
        {"", static_cast<double>(run.batch), Seconds(run.compute_seconds / 3), Seconds(run.compute_seconds * 2 / 3)}};
  }
  workload.parameters = run.parameters;
  return workload;
}

ComputeTimes times_on(const netmodel::Cluster& cluster, const netmodel::Workload& workload, Index batch,
                      Index accumulation, const PriceRules& rules) {
  ComputeTimes times = netmodel::compute_times(workload, netmodel::find_gpu(cluster.gpu), batch, accumulation);
  bool given = false;
  const auto replace = [&](Seconds& time, Seconds by) {
    if (std::isnan(by.value)) return;
    time = by;
    given = true;
  };
  replace(times.forward, rules.forward);
  replace(times.backward, rules.backward);
  replace(times.optimizer, rules.optimizer);
  if (!std::isnan(rules.backward.value)) {
    times.last_backward = 1 / static_cast<double>(accumulation) * rules.backward;
  }
  if (given) times.basis += times.basis.empty() ? "given" : ", partly given";
  return times;
}

StepEstimate StepPricer::of(const netmodel::StepTraffic& step) const {
  if (hybrid_) return hybrid(step).step;
  return netmodel::estimate_step(compute_, step, fabric_, model_, options_);
}

netmodel::HybridEstimate StepPricer::hybrid(const netmodel::StepTraffic& step) const {
  return netmodel::estimate_hybrid(hybrid_.value(), compute_, step, fabric_, model_, options_);
}

StepEstimate StepPricer::mean(const StageTraffic& stage) const {
  StepEstimate mean;
  const auto steps = static_cast<double>(stage.steps());
  for (const StageTraffic::StepKind& kind : stage.kinds) {
    add(mean, of(kind.traffic), static_cast<double>(kind.count) / steps);
  }
  return mean;
}

Timeline::Timeline(const RunSize& run, const std::vector<StepRange>& ranges, const netmodel::Cluster& cluster,
                   const netmodel::CostModel& model, const PriceRules& rules) {
  const netmodel::Fabric fabric(cluster, run.workers);
  const ComputeTimes compute = times_on(cluster, workload_of(run, rules), run.batch, 1, rules);
  const StepPricer pricer(compute, fabric, model, step_options(rules));
  const Encoding encoding{run.parameters, run.passes};
  basis_ = compute.basis;
  StepSeconds seconds(pricer);
  double before = 0;
  for (const StepRange& range : ranges) {
    legs_.push_back({range.first, range.last, before, seconds.of(range, encoding)});
    before += range.steps() * legs_.back().each;
  }
  for (const StageTraffic& stage : stages_of(ranges, encoding)) {
    stages_.push_back({stage.name, stage.compressed, stage.steps(), pricer.mean(stage)});
  }
}

StepEstimate Timeline::mean() const {
  double steps = 0;
  for (const StageTime& stage : stages_) steps += static_cast<double>(stage.steps);
  StepEstimate mean;
  for (const StageTime& stage : stages_) add(mean, stage.step, static_cast<double>(stage.steps) / steps);
  return mean;
}

double Timeline::at(Index step) const {
  const auto beyond = std::ranges::upper_bound(legs_, step, {}, &Leg::first);
  if (beyond == legs_.begin()) return 0;
  const Leg& leg = *std::prev(beyond);
  return leg.before + static_cast<double>(std::min(step, leg.last) - leg.first + 1) * leg.each;
}

}  // namespace onebit::analysis
