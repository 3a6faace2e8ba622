#include "netmodel/cost/closed_form.hpp"

#include <algorithm>
#include <cmath>

#include "device/base/error.hpp"
#include "netmodel/plan/nccl.hpp"

namespace onebit::netmodel {
namespace {

/// Load of an algorithm's step on its busiest links.
struct Step {
  double repeat = 1;
  double gpu_hops = 0, network_hops = 0;  ///< latencies in sequence
  double messages = 1;                    ///< number of messages that a GPU sends
  double gpu_bytes = 0, nic_bytes = 0;
  double gpu_streams = 1, nic_streams = 0;
  double node_bytes = -1;  ///< bytes that leave a node, averaged over the runs; -1: nic_bytes
  double efficiency = 1;
  double longest_fill = 0;  ///< for fill_time()
};

[[noreturn]] void refuse(const Request& request, const std::string& why) {
  throw ConfigError("no closed form for " + std::string(name(request.algorithm)) + " " +
                        std::string(name(request.collective)) + ": " + why,
                    "", "--cost-model link-load prices any plan");
}

bool is_power_of_two(double value) {
  return std::exp2(std::round(std::log2(value))) == value;
}

/// Formulas for one request on one fabric.
class Formulas {
 public:
  Formulas(const Request& request, const Fabric& fabric)
      : request_(request),
        fabric_(fabric),
        n_(static_cast<double>(members(fabric, request.scope))),
        ranks_(static_cast<double>(fabric.ranks())),
        nodes_(static_cast<double>(fabric.nodes())),
        width_(static_cast<double>(fabric.width())),
        payload_(request.payload.value),
        call_(call_costs(request, fabric)) {}

  Estimate estimate() {
    if (n_ == 1) return {};
    sum_.latency = sum_.total = call_.base;
    switch (request_.collective) {
      case Collective::all_reduce:
        all_reduce();
        break;
      case Collective::reduce_scatter:
        ring(request_.scope, payload_ / n_);
        break;
      case Collective::all_gather:
        request_.algorithm == Algorithm::ring ? ring(request_.scope, payload_) : at_once(payload_);
        break;
      case Collective::all_to_all:
        request_.algorithm == Algorithm::burst ? at_once(payload_ / n_) : pairwise();
        break;
      case Collective::gather:
        request_.algorithm == Algorithm::incast ? incast() : pairwise();
        break;
      case Collective::tree:
        binomial();
        break;
      case Collective::broadcast:
        chain();
        break;
      case Collective::neighbour:
        neighbour();
        break;
    }
    return sum_;
  }

 private:
  void add(const Step& step) {
    const LinkSpec &nic = fabric_.cluster().nic, &gpu = fabric_.cluster().gpu_link;
    Estimate e;
    const auto wait = [&](Link::Kind kind, double bytes, BytesPerSecond rate) {
      const double share = step.efficiency * call_.rate_share;
      const Seconds time(bytes > 0 ? bytes / rate.value / share : 0);
      if (time > e.at_bottleneck) e.at_bottleneck = time, e.bottleneck = {kind, 0};
    };
    wait(Link::Kind::nic_out, step.nic_bytes, fabric_.nic_rate(0, static_cast<Index>(step.nic_streams)));
    wait(Link::Kind::gpu_out, step.gpu_bytes, fabric_.gpu_rate(static_cast<Index>(step.gpu_streams)));
    const Seconds latency = step.gpu_hops * call_.gpu_hop + step.network_hops * call_.network_hop +
                            step.messages * (step.nic_bytes > 0 ? nic : gpu).per_message;
    e.latency = step.repeat * latency;
    e.fill = step.repeat * fill_time(latency, e.at_bottleneck, step.longest_fill);
    e.at_bottleneck = step.repeat * e.at_bottleneck;
    e.bandwidth = e.at_bottleneck + e.fill;
    e.total = e.latency + e.bandwidth;
    e.nic_bytes = Bytes(step.repeat * (step.node_bytes < 0 ? step.nic_bytes : step.node_bytes));
    sum_ += e;
  }

  bool leaves_nodes(Scope scope) const { return scope != Scope::local && nodes_ > 1; }

  Step one_latency(Scope scope) const {
    Step step;
    (leaves_nodes(scope) ? step.network_hops : step.gpu_hops) = 1;
    return step;
  }

  /// Adds `flows` streams that leave every node, with `bytes` bytes each.
  Step through_nics(Step step, double flows, double bytes) const {
    step.nic_streams = flows;
    step.nic_bytes = flows * bytes;
    return step;
  }

  /// Every one of n ranks sends a block to the next rank of the scope, n - 1 times. M - 1 of these steps take the
  /// network's latency if the ranks are on M nodes.
  void ring(Scope scope, double block) {
    const double steps = static_cast<double>(members(fabric_, scope)) - 1;
    if (steps == 0) return;
    const double outside = scope == Scope::local ? 0 : nodes_ - 1;
    Step step;
    step.network_hops = outside / steps;
    step.gpu_hops = 1 - step.network_hops;
    step.repeat = steps;
    step.gpu_bytes = block;
    if (leaves_nodes(scope)) step = through_nics(step, scope == Scope::rail ? width_ : 1, block);
    add(step);
  }

  void ring_both(Scope scope, double block) {
    ring(scope, block);
    ring(scope, block);
  }

  void all_reduce() {
    switch (request_.algorithm) {
      case Algorithm::ring:
        return ring_both(request_.scope, payload_ / n_);
      case Algorithm::hierarchical:
        ring_both(Scope::local, payload_ / width_);
        return ring_both(Scope::rail, payload_ / width_ / nodes_);
      case Algorithm::tree:
        return tree();
      case Algorithm::nvls:
        return nvls();
      case Algorithm::halving:
        return halving();
      default:
        return leader();
    }
  }

  /// Number of half vectors that the busiest node sends to other nodes: in one tree, and in both trees.
  double halves_in_one_tree() const { return nodes_ == 1 ? 0 : nodes_ == 2 ? 1 : nodes_ == 3 ? 2 : 3; }
  double halves_in_both() const { return nodes_ == 1 ? 0 : nodes_ == 2 ? 2 : nodes_ == 3 ? 3 : 4; }

  void tree() {
    Step step;
    step.gpu_hops = 2 * (width_ - 1);
    step.network_hops = 2 * std::ceil(std::log2(nodes_));
    const double at_gate = width_ == 1 ? halves_in_both() : 2 + halves_in_one_tree();
    step.gpu_streams = width_ >= 3 ? std::max(4.0, at_gate) : at_gate;
    step.messages = step.gpu_streams;
    step.gpu_bytes = step.gpu_streams * payload_ / 2;
    step = through_nics(step, halves_in_both(), payload_ / 2);
    step.efficiency = kTreeShare;
    step.longest_fill = longest_fill(request_.payload);
    add(step);
  }

  void nvls() {
    const double edges = halves_in_both(), half = payload_ / 2 / width_;
    Step step;
    step.gpu_hops = 1;
    step.network_hops = 2 * std::ceil(std::log2(nodes_));
    step.gpu_bytes = width_ == 1 ? edges * half : payload_ / fabric_.cluster().nvls / (nodes_ == 1 ? 1 : kTreeShare);
    step.gpu_streams = step.messages = width_ == 1 ? edges : 1 + edges;
    step.longest_fill = longest_fill(request_.payload);
    add(through_nics(step, width_ * edges, half));
  }

  void halving() {
    if (!is_power_of_two(ranks_) || !is_power_of_two(width_))
      refuse(request_, "the numbers of ranks and of GPUs per node must be powers of two");
    double block = payload_;
    for (double distance = 1; distance < ranks_; distance *= 2) {
      block /= 2;
      const bool leaves = distance >= width_;
      Step step = one_latency(leaves ? Scope::all : Scope::local);
      step.gpu_bytes = block;
      if (leaves) step = through_nics(step, width_, block);
      add(step);
      add(step);
    }
  }

  void leader() {
    for (int way = 0; way < 2; ++way) {
      Step chain;
      chain.gpu_hops = width_ - 1;
      chain.gpu_bytes = payload_;
      if (width_ > 1) add(chain);
      Step between;
      between.repeat = nodes_ - 1;
      between.network_hops = 1;
      between.gpu_bytes = payload_ / nodes_;
      if (nodes_ > 1) add(through_nics(between, 1, payload_ / nodes_));
    }
  }

  void at_once(double block) {
    Step step = one_latency(request_.scope);
    step.messages = n_ - 1;
    step.gpu_streams = n_ - 1;
    step.gpu_bytes = (n_ - 1) * block;
    const double outside = request_.scope == Scope::rail ? n_ - 1 : n_ - width_;
    if (leaves_nodes(request_.scope)) step = through_nics(step, width_ * outside, block);
    add(step);
  }

  /// In round k, min(k, G, N - k) GPUs of a node have a partner in another node.
  void pairwise() {
    Step step = one_latency(request_.scope);
    step.gpu_bytes = payload_ / n_;
    const auto rounds = [&](double count, double leaving) {
      step.repeat = count;
      if (count > 0) add(leaving > 0 ? through_nics(step, leaving, payload_ / n_) : step);
    };
    if (!leaves_nodes(request_.scope)) return rounds(n_ - 1, 0);
    if (request_.scope == Scope::rail) return rounds(n_ - 1, width_);
    for (double leaving = 1; leaving < width_; ++leaving) rounds(2, leaving);
    rounds(n_ - 1 - 2 * (width_ - 1), width_);
  }

  void incast() {
    Step step = one_latency(request_.scope);
    step.repeat = n_;
    step.gpu_streams = n_ - 1;
    step.gpu_bytes = (n_ - 1) * payload_ / n_;
    step.nic_streams = n_ - width_;
    step.nic_bytes = step.nic_streams * payload_ / n_;
    step.node_bytes = width_ / n_ * step.nic_bytes;  // a node has G of the N servers
    add(step);
  }

  void binomial() {
    if (nodes_ > 1 && !is_power_of_two(width_)) refuse(request_, "the number of GPUs per node must be a power of two");
    for (double distance = 1; distance < ranks_; distance *= 2) {
      Step step = one_latency(distance >= width_ ? Scope::all : Scope::local);
      step.gpu_bytes = payload_;
      if (distance >= width_) {
        step.nic_streams = 1;
        step.nic_bytes = payload_;
      }
      add(step);
    }
  }

  void chain() {
    Step step;
    step.network_hops = nodes_ - 1;
    step.gpu_hops = ranks_ - nodes_;
    step.gpu_bytes = payload_;
    if (nodes_ > 1) {
      step.nic_streams = 1;
      step.nic_bytes = payload_;
    }
    add(step);
  }

  void neighbour() {
    Step step = one_latency(request_.scope);
    step.messages = step.gpu_streams = 2;
    step.gpu_bytes = 2 * payload_;
    if (nodes_ > 1) step = through_nics(step, 2, payload_);
    add(step);
  }

  const Request& request_;
  const Fabric& fabric_;
  const double n_, ranks_, nodes_, width_, payload_;
  const CallCosts call_;
  Estimate sum_;
};

}  // namespace

Estimate ClosedForm::cost(const Plan& plan, const Fabric& fabric) const {
  if (!fabric.symmetric()) refuse(plan.request, "the nodes differ, or do not hold the ranks in order");
  if (!plan.request.blocks.empty()) refuse(plan.request, "its blocks differ in size");
  if (fabric.leaves() > 0) refuse(plan.request, "the uplinks of leaf switches limit the network");
  return Formulas(plan.request, fabric).estimate();
}

}  // namespace onebit::netmodel
