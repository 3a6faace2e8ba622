#include "netmodel/step/step_model.hpp"

#include <algorithm>
#include <cmath>

#include "device/base/error.hpp"
#include "netmodel/plan/nccl.hpp"

namespace onebit::netmodel {
namespace {

double as_double(Index value) {
  return static_cast<double>(value);
}

double bytes_per_element(CodecKernels kernels) {
  return kernels == CodecKernels::fused ? 14 : 176;
}

/// Returns the expected maximum of `count` standard normal variables: the integral of 1 - F^count above 0 minus that of
/// F^count below, where F is the normal distribution function.
double expected_maximum(Index count) {
  constexpr double step = 1.0 / 64, far = 10;
  double sum = 0;
  for (double x = -far; x < far; x += step) {
    const double middle = x + step / 2, below = std::pow(0.5 * std::erfc(-middle / std::sqrt(2.0)), as_double(count));
    sum += step * (middle > 0 ? 1 - below : -below);
  }
  return sum;
}

/// Returns the factor by which the slowest GPU is slower than a typical one.
double slowdown(const Fabric& fabric) {
  const Cluster& cluster = fabric.cluster();
  double most = 1;
  for (const NodeFactor& straggler : cluster.stragglers) {
    if (straggler.node < fabric.nodes()) most = std::max(most, straggler.factor);
  }
  return cluster.jitter == 0 ? most : most * (1 + cluster.jitter * expected_maximum(fabric.ranks()));
}

bool is_mean(const Traffic& traffic) {
  return traffic.collective == Collective::all_reduce && traffic.type == WireType::fp32;
}

bool carries_gradients(const StepTraffic& step, const Traffic& traffic) {
  return step.compressed == 0 && step.gradients && is_mean(traffic);
}

Bytes payload_of(const StepTraffic& step, const Traffic& traffic, const StepOptions& options) {
  const double share = carries_gradients(step, traffic) ? options.gradient_bytes / sizeof(float) : 1;
  return Bytes(share * as_double(traffic.payload_bytes));
}

/// Returns a step's exchanges with the float32 all-reduces of its tensors as one, in the place of the first.
TrafficList fused(const StepTraffic& step) {
  TrafficList exchanges;
  std::size_t mean = step.exchanges.size();
  for (const Traffic& traffic : step.exchanges) {
    const bool fuses = is_mean(traffic) && traffic.tensor >= 0;
    if (fuses && mean < exchanges.size()) {
      exchanges[mean].payload_bytes += traffic.payload_bytes;
      continue;
    }
    if (fuses) mean = exchanges.size();
    exchanges.push_back(traffic);
  }
  return exchanges;
}

/// Adds up exchanges, and keeps the algorithm of the one that takes longest.
class Sum {
 public:
  Sum(const Fabric& fabric, const CostModel& model) : fabric_(fabric), model_(model) {}

  /// Adds an exchange that takes place `times` times. Returns the time of a single one.
  Seconds add(Collective collective, Bytes payload, double times = 1) {
    const Priced priced = price(collective, payload, fabric_, model_);
    add(priced.choice.algorithm, priced.choice.reason, priced.estimate, times);
    return priced.estimate.total;
  }
  void add(const Request& request) {
    add(request.algorithm, "within and between nodes", model_.cost(plan(request, fabric_), fabric_), 1);
  }
  void finish(StepEstimate& step) const {
    step.exchange = sum_;
    step.all_communication = sum_.total;
    step.algorithm = algorithm_;
    step.reason = reason_;
  }

 private:
  void add(Algorithm algorithm, const std::string& reason, const Estimate& estimate, double times) {
    const Estimate all = times * estimate;
    sum_ += all;
    if (!algorithm_.empty() && all.total <= longest_) return;
    longest_ = all.total;
    algorithm_ = name(algorithm);
    reason_ = reason;
  }

  const Fabric& fabric_;
  const CostModel& model_;
  Estimate sum_;
  Seconds longest_;
  std::string algorithm_, reason_;
};

/// Returns the exposed time of gradients that are exchanged in buckets. Buckets become ready evenly over the last
/// backward pass; each starts when it is ready and the previous one has ended. The part after the end of the pass is
/// exposed. With K equal buckets, the exchange ends at the maximum over k of k/K of the pass plus the time of K - k + 1
/// buckets; the maximum is at k = 1 or k = K.
Seconds exposed(Sum& sum, Bytes payload, Seconds backward, const StepOptions& options) {
  const auto count = std::max(1.0, std::ceil(payload / options.bucket));
  const Seconds one = sum.add(Collective::all_reduce, 1 / count * payload, count);
  const Seconds end = std::max(1 / count * backward + count * one, backward + one);
  return end - backward;
}

/// Returns the hierarchical form of a compressed step: packed vectors up and down, and other gathered data (scales).
std::vector<Request> hierarchical_requests(const StepTraffic& step, const Fabric& fabric, const StepOptions& options) {
  Bytes up, down;
  std::vector<Bytes> gathered;
  for (const Traffic& traffic : step.exchanges) {
    if (is_mean(traffic)) continue;
    if (traffic.collective == Collective::all_to_all) {
      up += payload_of(step, traffic, options);
    } else if (traffic.collective == Collective::all_gather) {
      gathered.push_back(payload_of(step, traffic, options));
    } else {
      up = Bytes(-1);
      break;
    }
  }
  if (!(up.value > 0) || gathered.empty()) {
    throw ConfigError("this exchange has no hierarchical form", "step.exchange hierarchical",
                      "use it with an optimizer that sends vectors to servers and back, such as 1-bit Adam");
  }
  std::sort(gathered.begin(), gathered.end());
  down = as_double(fabric.ranks()) * gathered.back();
  gathered.pop_back();
  const Bytes dense(options.gradient_bytes * as_double(step.compressed));
  std::vector<Request> requests = hierarchical_exchange(dense, up, down, fabric);
  for (const Bytes& block : gathered) {
    requests.push_back({Collective::all_gather, Scope::rail, Algorithm::ring, block});
  }
  for (Request& request : requests) request.protocol = best_protocol(request, fabric);
  return requests;
}

}  // namespace

std::vector<Request> hierarchical_exchange(Bytes dense, Bytes up, Bytes down, const Fabric& fabric) {
  const double width = as_double(fabric.width()), nodes = as_double(fabric.nodes());
  return {{Collective::reduce_scatter, Scope::local, Algorithm::ring, dense},
          {Collective::all_to_all, Scope::rail, Algorithm::burst, 1 / width * up},
          {Collective::all_gather, Scope::rail, Algorithm::ring, 1 / (width * nodes) * down},
          {Collective::all_gather, Scope::local, Algorithm::ring, 1 / width * down}};
}

std::vector<Plan> step_plans(const StepTraffic& traffic, const Fabric& fabric, const CostModel& model,
                             const StepOptions& options) {
  const bool hierarchical = options.hierarchical && traffic.compressed > 0;
  std::vector<Plan> plans;
  if (hierarchical) {
    for (const Request& each : hierarchical_requests(traffic, fabric, options)) plans.push_back(plan(each, fabric));
  }
  for (const Traffic& each : fused(traffic)) {
    if (hierarchical && !is_mean(each)) continue;
    const Bytes payload = payload_of(traffic, each, options);
    plans.push_back(
        plan(request_of(each.collective, payload, choose(each.collective, payload, fabric, model)), fabric));
  }
  return plans;
}

StepEstimate estimate_step(const ComputeTimes& compute, const StepTraffic& traffic, const Fabric& fabric,
                           const CostModel& model, const StepOptions& options) {
  const double slower = slowdown(fabric);
  StepEstimate step;
  step.forward = slower * compute.forward;
  step.backward = slower * compute.backward;
  step.optimizer = compute.optimizer;
  const bool hierarchical = options.hierarchical && traffic.compressed > 0;
  const Index coded = hierarchical ? traffic.compressed / fabric.width() : traffic.compressed;
  step.codec = sweep(fabric.gpu(), coded, bytes_per_element(options.codec));
  Sum sum(fabric, model);
  if (hierarchical) {
    for (const Request& each : hierarchical_requests(traffic, fabric, options)) sum.add(each);
  }
  bool overlapped = false;
  Seconds after;  // time after the backward pass
  for (const Traffic& each : fused(traffic)) {
    if (hierarchical && !is_mean(each)) continue;
    const Bytes payload = payload_of(traffic, each, options);
    if (options.overlap == Overlap::buckets && carries_gradients(traffic, each)) {
      after += exposed(sum, payload, slower * compute.last_backward, options);
      overlapped = true;
    } else {
      after += sum.add(each.collective, payload);
    }
  }
  sum.finish(step);
  step.communication = step.all_communication;
  if (overlapped) step.communication = std::min(after, step.communication);  // rounding may make `after` larger
  if (overlapped && fabric.ranks() > 1) step.backward += slower * options.stretch * compute.last_backward;
  step.step = step.forward + step.backward + step.communication + step.codec + step.optimizer;
  return step;
}

double mixed_speedup(double warmup_share, double speedup) {
  return 1 / (warmup_share + (1 - warmup_share) / speedup);
}

}  // namespace onebit::netmodel
