#include "netmodel/cost/link_load.hpp"

#include <algorithm>

namespace onebit::netmodel {
namespace {

using Kind = Link::Kind;

struct Load {
  double bytes = 0;
  Index streams = 0;

  void add(double flow, Index count) {
    bytes += static_cast<double>(count) * flow;
    streams += count;
  }
};

/// Load on every link in one run of a phase. Of links that carry the same load, only one is kept: if all rails do the
/// same, the links of one GPU per node; if all nodes do the same too, the first link of each kind.
class Loads {
 public:
  explicit Loads(const Fabric& fabric) : fabric_(fabric) {}

  void take(const Phase& phase) {
    using Pattern = Phase::Pattern;
    alike_ = fabric_.symmetric() && fabric_.leaves() == 0 &&
             (phase.pattern == Pattern::shift || phase.pattern == Pattern::pairs);
    rails_ = phase.pattern == Pattern::list && phase.scope == Scope::rail;
    if (alike_) return take_alike(phase);
    clear();
    const Index rails = rails_ ? fabric_.width() : 1;
    const auto add = [&](Index from, Index to, double bytes) {
      const Index source = fabric_.node(from), target = fabric_.node(to);
      at(gpu_out_, rails_ ? source : from).add(bytes, 1);
      at(gpu_in_, rails_ ? target : to).add(bytes, 1);
      if (source == target) return;
      crosses_ = true;
      at(nic_out_, source).add(bytes, rails);
      at(nic_in_, target).add(bytes, rails);
      if (leaf_out_.empty() || fabric_.leaf(source) == fabric_.leaf(target)) return;
      at(leaf_out_, fabric_.leaf(source)).add(bytes, rails);
      at(leaf_in_, fabric_.leaf(target)).add(bytes, rails);
    };
    if (!rails_) return for_each_flow(phase, fabric_, add);
    phase.list(fabric_, [&](Index from, Index to, Bytes bytes) { add(from, to, bytes.value); });
  }

  /// Calls visit(link, load, rate) for every link.
  template <class Visit>
  void for_each_link(const Visit& visit) const {
    const auto each = [&](Link::Kind kind, const std::vector<Load>& loads, Index apart, const auto& rate) {
      for (std::size_t i = 0; i < loads.size(); ++i) {
        const auto index = static_cast<Index>(i);
        visit(Link{kind, index * apart}, loads[i], rate(index, loads[i].streams));
      }
    };
    const auto nic_rate = [&](Index node, Index streams) { return fabric_.nic_rate(node, streams); };
    const auto gpu_rate = [&](Index, Index streams) { return fabric_.gpu_rate(streams); };
    const auto leaf_rate = [&](Index, Index) { return fabric_.leaf_rate(); };
    const Index apart = rails_ ? fabric_.width() : 1;
    each(Kind::nic_out, nic_out_, 1, nic_rate);
    each(Kind::nic_in, nic_in_, 1, nic_rate);
    each(Kind::gpu_out, gpu_out_, apart, gpu_rate);
    each(Kind::gpu_in, gpu_in_, apart, gpu_rate);
    each(Kind::leaf_out, leaf_out_, 1, leaf_rate);
    each(Kind::leaf_in, leaf_in_, 1, leaf_rate);
  }

  /// Adds the bytes that the nodes sent and received in all runs of the phase.
  void count(double repeat) {
    if (alike_) {
      by_all_ += repeat * nic_out_.front().bytes;
      return;
    }
    sent_.resize(nic_out_.size());
    received_.resize(nic_in_.size());
    for (std::size_t i = 0; i < nic_out_.size(); ++i) {
      sent_[i] += repeat * nic_out_[i].bytes;
      received_[i] += repeat * nic_in_[i].bytes;
    }
  }
  Bytes most_counted() const {
    double most = 0;
    for (const auto* counted : {&sent_, &received_}) {
      for (const double bytes : *counted) most = std::max(most, bytes);
    }
    return Bytes(by_all_ + most);
  }

  Index most_messages() const {
    Index most = 0;
    for (const Load& load : gpu_out_) most = std::max(most, load.streams);
    return most;
  }
  bool crosses() const { return crosses_; }

 private:
  static Load& at(std::vector<Load>& loads, Index i) { return loads[static_cast<std::size_t>(i)]; }

  void clear() {
    const auto size = [](Index count) { return static_cast<std::size_t>(count); };
    for (auto* loads : {&nic_out_, &nic_in_}) loads->assign(size(fabric_.nodes()), {});
    for (auto* loads : {&gpu_out_, &gpu_in_}) loads->assign(size(rails_ ? fabric_.nodes() : fabric_.ranks()), {});
    for (auto* loads : {&leaf_out_, &leaf_in_}) loads->assign(size(fabric_.leaves()), {});
    crosses_ = false;
  }

  /// Returns the number of a pattern's flows that leave each node.
  Index leaving(const Phase& phase) const {
    const Index n = members(fabric_, phase.scope), width = fabric_.width();
    const bool pairs = phase.pattern == Phase::Pattern::pairs;
    if (fabric_.nodes() == 1 || phase.scope == Scope::local) return 0;
    if (phase.scope == Scope::rail) return width * (pairs ? n - 1 : 1);
    return pairs ? width * (n - width) : std::min({phase.shift, width, n - phase.shift});
  }

  void take_alike(const Phase& phase) {
    for (auto* loads : {&gpu_out_, &gpu_in_, &nic_out_, &nic_in_}) loads->resize(1);
    for (auto* loads : {&leaf_out_, &leaf_in_}) loads->clear();
    const auto load = [&](Index flows) { return Load{static_cast<double>(flows) * phase.bytes.value, flows}; };
    const Index partners = phase.pattern == Phase::Pattern::pairs ? members(fabric_, phase.scope) - 1 : 1;
    gpu_out_.front() = gpu_in_.front() = load(partners);
    nic_out_.front() = nic_in_.front() = load(leaving(phase));
    crosses_ = leaving(phase) > 0;
  }

  const Fabric& fabric_;
  bool alike_ = false, rails_ = false;
  bool crosses_ = false;
  std::vector<Load> gpu_out_, gpu_in_, nic_out_, nic_in_, leaf_out_, leaf_in_;
  std::vector<double> sent_, received_;
  double by_all_ = 0;
};

Estimate cost_of(const Phase& phase, const Fabric& fabric, Loads& loads) {
  const auto repeat = static_cast<double>(phase.repeat);
  const LinkSpec &nic = fabric.cluster().nic, &gpu = fabric.cluster().gpu_link;
  loads.take(phase);
  Estimate estimate;
  loads.for_each_link([&](const Link& link, const Load& load, BytesPerSecond rate) {
    if (load.bytes == 0) return;
    const Seconds time(load.bytes / rate.value);
    if (time > estimate.at_bottleneck) {
      estimate.at_bottleneck = time;
      estimate.bottleneck = link;
    }
  });
  const auto messages = static_cast<double>(loads.most_messages());
  const Seconds latency = phase.latency + messages * (loads.crosses() ? nic : gpu).per_message;
  const Seconds bytes = 1 / phase.link_efficiency * estimate.at_bottleneck;
  estimate.latency = repeat * latency;
  estimate.fill = repeat * fill_time(latency, bytes, phase.longest_fill);
  estimate.at_bottleneck = repeat * bytes;
  estimate.bandwidth = estimate.at_bottleneck + estimate.fill;
  estimate.total = estimate.latency + estimate.bandwidth;
  loads.count(repeat);
  return estimate;
}

}  // namespace

Estimate LinkLoad::cost(const Plan& plan, const Fabric& fabric) const {
  Estimate sum;
  sum.latency = sum.total = plan.base;
  Loads loads(fabric);
  for (const Phase& phase : plan.phases) {
    if (phase.repeat > 0) sum += cost_of(phase, fabric, loads);
  }
  sum.nic_bytes = loads.most_counted();
  return sum;
}

}  // namespace onebit::netmodel
