#include "netmodel/cost/fluid.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "device/base/error.hpp"
#include "netmodel/cost/link_load.hpp"

namespace onebit::netmodel {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// Flows whose ends are this close, relative to the clock or their size, end together.
constexpr double kTogether = 1e-12;

struct ActiveFlow {
  std::array<std::size_t, 6> links{};  ///< links on its route
  std::size_t count = 0;
  double bytes = 0;  ///< size of the whole flow
  double left = 0;
  double cap = kNever;  ///< limit of the flow's own rate
  double rate = 0;
  std::size_t plan = 0;
};

/// Numbers the links in this order: all GPUs out, all GPUs in, all nodes out, all nodes in, all leaf switches out, and
/// all leaf switches in.
class Links {
 public:
  explicit Links(const Fabric& fabric)
      : fabric_(fabric), ranks_(fabric.ranks()), nodes_(fabric.nodes()), leaves_(fabric.leaves()) {
    for (Index i = 0; i < 2 * ranks_; ++i) capacity_.push_back(fabric.cluster().gpu_link.effective.value);
    for (Index i = 0; i < 2 * nodes_; ++i) capacity_.push_back(fabric.nic_rate(i % nodes_, kManyStreams).value);
    for (Index i = 0; i < 2 * leaves_; ++i) capacity_.push_back(fabric.leaf_rate().value);
  }

  const std::vector<double>& capacity() const { return capacity_; }

  ActiveFlow flow(Index from, Index to, double bytes, std::size_t plan) const {
    const auto cap_of = [](BytesPerSecond cap) { return cap.value > 0 ? cap.value : kNever; };
    ActiveFlow flow;
    flow.bytes = flow.left = bytes;
    flow.plan = plan;
    flow.cap = cap_of(fabric_.cluster().gpu_link.stream_cap);
    const auto through = [&](Index link) { flow.links[flow.count++] = static_cast<std::size_t>(link); };
    through(from);
    through(ranks_ + to);
    const Index source = fabric_.node(from), target = fabric_.node(to);
    if (source == target) return flow;
    flow.cap = std::min(flow.cap, cap_of(fabric_.cluster().nic.stream_cap));
    through(2 * ranks_ + source);
    through(2 * ranks_ + nodes_ + target);
    if (leaves_ == 0 || fabric_.leaf(source) == fabric_.leaf(target)) return flow;
    through(2 * ranks_ + 2 * nodes_ + fabric_.leaf(source));
    through(2 * ranks_ + 2 * nodes_ + leaves_ + fabric_.leaf(target));
    return flow;
  }

 private:
  /// Number of streams whose caps together limit no link. Every flow has its own cap instead.
  static constexpr Index kManyStreams = Index{1} << 40;

  const Fabric& fabric_;
  Index ranks_, nodes_, leaves_;
  std::vector<double> capacity_;
};

/// Computes max-min fair rates: all rates rise together, and a flow's rate stops rising when one of its links is full
/// or its own cap is reached.
void share(std::vector<ActiveFlow>& flows, const std::vector<double>& capacity) {
  std::vector<double> left = capacity;
  std::vector<Index> waiting(capacity.size());
  std::vector<ActiveFlow*> rising;
  for (ActiveFlow& flow : flows) {
    rising.push_back(&flow);
    for (std::size_t i = 0; i < flow.count; ++i) ++waiting[flow.links[i]];
  }
  while (!rising.empty()) {
    double level = kNever;
    for (std::size_t link = 0; link < left.size(); ++link) {
      if (waiting[link] > 0) level = std::min(level, left[link] / static_cast<double>(waiting[link]));
    }
    for (const ActiveFlow* flow : rising) level = std::min(level, flow->cap);
    const double full = level * (1 + kTogether);
    std::vector<char> is_full(left.size());
    for (std::size_t link = 0; link < left.size(); ++link) {
      is_full[link] = waiting[link] > 0 && left[link] / static_cast<double>(waiting[link]) <= full;
    }
    std::erase_if(rising, [&](ActiveFlow* flow) {
      bool stops = flow->cap <= full;
      for (std::size_t i = 0; i < flow->count; ++i) stops = stops || is_full[flow->links[i]];
      if (!stops) return false;
      flow->rate = level;
      for (std::size_t i = 0; i < flow->count; ++i) {
        left[flow->links[i]] -= level;
        --waiting[flow->links[i]];
      }
      return true;
    });
  }
}

/// The state of a plan. It waits until `wakes` (for its start or a latency), or for its flows to end.
struct Progress {
  const Plan* plan;
  std::size_t phase = 0;
  Index run = 0;       ///< number of the phase's current run
  double latency = 0;  ///< latency of one run plus the time to fill its pipeline if the plan ran alone
  enum class State { latency, flows, over } state = State::latency;
  double wakes = 0;
  Index flows = 0;  ///< number of flows in progress
  double ended = 0;
};

class Simulation {
 public:
  Simulation(std::span<const TimedPlan> plans, std::span<const Flow> background, const Fabric& fabric)
      : fabric_(fabric), links_(fabric) {
    for (const TimedPlan& each : plans) {
      progress_.push_back({.plan = each.plan, .ended = each.start.value});
      begin_phase(progress_.size() - 1, (each.start + each.plan->base).value);
    }
    for (const Flow& flow : background) {
      flows_.push_back(links_.flow(flow.from, flow.to, kNever, progress_.size()));
    }
  }

  std::vector<Seconds> run() {
    while (std::any_of(progress_.begin(), progress_.end(),
                       [](const Progress& p) { return p.state != Progress::State::over; })) {
      if (changed_) share(flows_, links_.capacity());
      changed_ = false;
      advance(next_event());
    }
    std::vector<Seconds> ends;
    for (const Progress& each : progress_) ends.emplace_back(each.ended);
    return ends;
  }

 private:
  const Phase& phase_of(const Progress& p) const { return p.plan->phases[p.phase]; }

  /// Begins the next run of the current phase, or the next phase that has any runs.
  void begin_phase(std::size_t index, double now) {
    Progress& p = progress_[index];
    while (p.phase < p.plan->phases.size() && p.run >= phase_of(p).repeat) ++p.phase, p.run = 0;
    if (p.phase == p.plan->phases.size()) {
      p.state = Progress::State::over;
      p.ended = now;
      return;
    }
    if (p.run == 0) {  // the latency is the same in every run
      Plan alone{p.plan->request, {phase_of(p)}};
      alone.phases.front().repeat = 1;
      const Estimate estimate = LinkLoad().cost(alone, fabric_);
      p.latency = (estimate.latency + estimate.fill).value;
    }
    p.state = Progress::State::latency;
    p.wakes = now + p.latency;
  }

  void begin_flows(std::size_t index) {
    Progress& p = progress_[index];
    p.state = Progress::State::flows;
    p.wakes = kNever;
    for_each_flow(phase_of(p), fabric_, [&](Index from, Index to, double bytes) {
      if (bytes == 0) return;
      check_flows(static_cast<Index>(flows_.size()) + 1, "fluid");
      flows_.push_back(links_.flow(from, to, bytes / phase_of(p).link_efficiency, index));
      ++p.flows;
    });
    changed_ = true;
    if (p.flows == 0) end_run(index);
  }

  void end_run(std::size_t index) {
    ++progress_[index].run;
    begin_phase(index, now_);
  }

  double next_event() const {
    double next = kNever;
    for (const Progress& p : progress_) {
      if (p.state != Progress::State::over) next = std::min(next, p.wakes);
    }
    for (const ActiveFlow& flow : flows_) next = std::min(next, now_ + flow.left / flow.rate);
    return next;
  }

  void advance(double next) {
    for (ActiveFlow& flow : flows_) flow.left -= (next - now_) * flow.rate;
    now_ = next;
    const auto done = std::erase_if(flows_, [&](const ActiveFlow& flow) {
      const bool moves = now_ + flow.left / flow.rate > now_;  // if false, the clock cannot resolve the remaining time
      if (flow.bytes == kNever || (moves && flow.left > kTogether * flow.bytes)) return false;
      --progress_[flow.plan].flows;
      return true;
    });
    changed_ = changed_ || done > 0;
    for (std::size_t i = 0; i < progress_.size(); ++i) step_on(i);
  }

  void step_on(std::size_t index) {
    Progress& p = progress_[index];
    const bool awake = p.wakes <= now_ * (1 + kTogether);
    switch (p.state) {
      case Progress::State::latency:
        if (awake) begin_flows(index);
        break;
      case Progress::State::flows:
        if (p.flows == 0) end_run(index);
        break;
      case Progress::State::over:
        break;
    }
  }

  const Fabric& fabric_;
  Links links_;
  std::vector<Progress> progress_;
  std::vector<ActiveFlow> flows_;
  double now_ = 0;
  bool changed_ = false;
};

}  // namespace

std::vector<Seconds> finish_times(std::span<const TimedPlan> plans, std::span<const Flow> background,
                                  const Fabric& fabric) {
  return Simulation(plans, background, fabric).run();
}

namespace {

/// Returns the time of a plan that runs alone. All runs of a phase are then alike, so only one is simulated.
Seconds alone(const Plan& plan, std::span<const Flow> background, const Fabric& fabric) {
  Seconds total = plan.base;
  for (const Phase& phase : plan.phases) {
    if (phase.repeat == 0) continue;
    Plan once{plan.request, {phase}};
    once.phases.front().repeat = 1;
    const TimedPlan timed{&once, Seconds(0)};
    total += static_cast<double>(phase.repeat) * finish_times({&timed, 1}, background, fabric).front();
  }
  return total;
}

}  // namespace

Estimate Fluid::cost(const Plan& plan, const Fabric& fabric) const {
  for (const Flow& flow : background_) {
    if (flow.from >= 0 && flow.to >= 0 && std::max(flow.from, flow.to) < fabric.ranks() && flow.from != flow.to)
      continue;
    throw ConfigError("a background flow does not join two different GPUs of the job",
                      "fluid.background " + std::to_string(flow.from) + ":" + std::to_string(flow.to),
                      "GPUs are numbered from 0");
  }
  Estimate sum = LinkLoad().cost(plan, fabric);  // for its parts, bytes and bottleneck
  if (jobs_ == 1) {
    sum.total = alone(plan, background_, fabric);
  } else {
    const std::vector<TimedPlan> plans(static_cast<std::size_t>(jobs_), TimedPlan{&plan, Seconds(0)});
    const std::vector<Seconds> ends = finish_times(plans, background_, fabric);
    sum.total = *std::max_element(ends.begin(), ends.end());
  }
  sum.bandwidth = sum.total - sum.latency;
  return sum;
}

}  // namespace onebit::netmodel
