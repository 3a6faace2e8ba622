#include "netmodel/cost/link_load.hpp"

#include <algorithm>

namespace onebit::netmodel {
namespace {

using Kind = Link::Kind;

struct Load {
  double bytes = 0;
  Index streams = 0;

  void add(double flow) {
    bytes += flow;
    ++streams;
  }
};

/// Load on every link in one run of a phase. If all links of a kind carry the same load, only the first one is kept.
class Loads {
 public:
  explicit Loads(const Fabric& fabric)
      : fabric_(fabric),
        gpu_out_(static_cast<std::size_t>(fabric.ranks())),
        gpu_in_(gpu_out_.size()),
        nic_out_(static_cast<std::size_t>(fabric.nodes())),
        nic_in_(nic_out_.size()),
        leaf_out_(static_cast<std::size_t>(fabric.leaves())),
        leaf_in_(leaf_out_.size()),
        sent_(nic_out_.size()),
        received_(nic_out_.size()) {}

  void take(const Phase& phase) {
    using Pattern = Phase::Pattern;
    alike_ = fabric_.symmetric() && fabric_.leaves() == 0 &&
             (phase.pattern == Pattern::shift || phase.pattern == Pattern::pairs || phase.pattern == Pattern::none);
    if (alike_) return take_alike(phase);
    for (auto* loads : {&gpu_out_, &gpu_in_, &nic_out_, &nic_in_, &leaf_out_, &leaf_in_}) {
      std::fill(loads->begin(), loads->end(), Load{});
    }
    crosses_ = false;
    for_each_flow(phase, fabric_, [&](Index from, Index to, double bytes) {
      at(gpu_out_, from).add(bytes);
      at(gpu_in_, to).add(bytes);
      const Index source = fabric_.node(from), target = fabric_.node(to);
      if (source == target) return;
      crosses_ = true;
      at(nic_out_, source).add(bytes);
      at(nic_in_, target).add(bytes);
      if (leaf_out_.empty() || fabric_.leaf(source) == fabric_.leaf(target)) return;
      at(leaf_out_, fabric_.leaf(source)).add(bytes);
      at(leaf_in_, fabric_.leaf(target)).add(bytes);
    });
  }

  /// Calls visit(link, load, rate).
  template <class Visit>
  void for_each_link(const Visit& visit) const {
    const auto each = [&](Link::Kind kind, const std::vector<Load>& loads, const auto& rate) {
      const std::size_t count = alike_ ? 1 : loads.size();
      for (std::size_t i = 0; i < count; ++i) {
        visit(Link{kind, static_cast<Index>(i)}, loads[i], rate(static_cast<Index>(i), loads[i].streams));
      }
    };
    const auto nic_rate = [&](Index node, Index streams) { return fabric_.nic_rate(node, streams); };
    const auto gpu_rate = [&](Index, Index streams) { return fabric_.gpu_rate(streams); };
    each(Kind::nic_out, nic_out_, nic_rate);
    each(Kind::nic_in, nic_in_, nic_rate);
    each(Kind::gpu_out, gpu_out_, gpu_rate);
    each(Kind::gpu_in, gpu_in_, gpu_rate);
    if (alike_) return;
    const auto leaf_rate = [&](Index, Index) { return fabric_.leaf_rate(); };
    each(Kind::leaf_out, leaf_out_, leaf_rate);
    each(Kind::leaf_in, leaf_in_, leaf_rate);
  }

  /// Adds the bytes that the nodes sent and received in all runs of the phase.
  void count(double repeat) {
    if (alike_) {
      by_all_ += repeat * nic_out_.front().bytes;
      return;
    }
    for (std::size_t i = 0; i < nic_out_.size(); ++i) {
      sent_[i] += repeat * nic_out_[i].bytes;
      received_[i] += repeat * nic_in_[i].bytes;
    }
  }
  Bytes most_counted() const {
    return Bytes(by_all_ + std::max(*std::max_element(sent_.begin(), sent_.end()),
                                    *std::max_element(received_.begin(), received_.end())));
  }

  Index most_messages() const {
    if (alike_) return gpu_out_.front().streams;
    Index most = 0;
    for (const Load& load : gpu_out_) most = std::max(most, load.streams);
    return most;
  }
  bool crosses() const { return crosses_; }

 private:
  static Load& at(std::vector<Load>& loads, Index i) { return loads[static_cast<std::size_t>(i)]; }

  /// Returns the number of a pattern's flows that leave each node.
  Index leaving(const Phase& phase) const {
    const Index n = members(fabric_, phase.scope), width = fabric_.width();
    const bool pairs = phase.pattern == Phase::Pattern::pairs;
    if (fabric_.nodes() == 1 || phase.scope == Scope::local) return 0;
    if (phase.scope == Scope::rail) return width * (pairs ? n - 1 : 1);
    return pairs ? width * (n - width) : std::min({phase.shift, width, n - phase.shift});
  }

  void take_alike(const Phase& phase) {
    if (phase.pattern == Phase::Pattern::none) {
      crosses_ = false;
      gpu_out_.front() = gpu_in_.front() = nic_out_.front() = nic_in_.front() = {};
      return;
    }
    const auto load = [&](Index flows) { return Load{static_cast<double>(flows) * phase.bytes.value, flows}; };
    const Index partners = phase.pattern == Phase::Pattern::pairs ? members(fabric_, phase.scope) - 1 : 1;
    gpu_out_.front() = gpu_in_.front() = load(partners);
    nic_out_.front() = nic_in_.front() = load(leaving(phase));
    crosses_ = leaving(phase) > 0;
  }

  const Fabric& fabric_;
  bool alike_ = false;
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
  estimate.latency = repeat * (phase.latency + messages * (loads.crosses() ? nic : gpu).per_message);
  estimate.at_bottleneck = repeat / phase.link_efficiency * estimate.at_bottleneck;
  estimate.bandwidth = estimate.at_bottleneck;
  estimate.total = estimate.latency + estimate.bandwidth;
  loads.count(repeat);
  return estimate;
}

}  // namespace

Estimate LinkLoad::cost(const Plan& plan, const Fabric& fabric) const {
  Estimate sum;
  Loads loads(fabric);
  for (const Phase& phase : plan.phases) {
    if (phase.repeat > 0) sum += cost_of(phase, fabric, loads);
  }
  sum.nic_bytes = loads.most_counted();
  return sum;
}

}  // namespace onebit::netmodel
