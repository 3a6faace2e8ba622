#include "netmodel/step_model.hpp"

#include <algorithm>
#include <cmath>

namespace onebit::netmodel {
namespace {

double as_double(Index value) {
  return static_cast<double>(value);
}

double bytes_per_element(CodecKernels kernels) {
  return kernels == CodecKernels::fused ? 14 : 176;
}

/// By how much the slowest GPU is slower than the usual one.
double slowdown(const Fabric& fabric) {
  const Cluster& cluster = fabric.cluster();
  double most = 1;
  for (const NodeFactor& straggler : cluster.stragglers) {
    if (straggler.node < fabric.nodes()) most = std::max(most, straggler.factor);
  }
  return most * (1 + cluster.jitter * std::sqrt(2 * std::log(as_double(fabric.ranks()))));
}

bool is_gradient(const Traffic& traffic) {
  return traffic.collective == Collective::all_reduce && traffic.type == WireType::fp32;
}

Bytes payload_of(const Traffic& traffic, const StepOptions& options) {
  const double share = is_gradient(traffic) ? options.gradient_bytes / sizeof(float) : 1;
  return Bytes(share * as_double(traffic.payload_bytes));
}

/// Adds up exchanges; keeps the choice of the one that takes longest.
class Sum {
 public:
  Sum(const Fabric& fabric, const CostModel& model) : fabric_(fabric), model_(model) {}

  Seconds add(Collective collective, Bytes payload) {
    const Priced priced = price(collective, payload, fabric_, model_);
    return add(priced.choice.algorithm, priced.choice.reason, priced.estimate);
  }
  void add(const Request& request) {
    add(request.algorithm, "within and between nodes", model_.cost(plan(request, fabric_), fabric_));
  }
  void finish(StepEstimate& step) const {
    step.exchange = sum_;
    step.all_communication = sum_.total;
    step.algorithm = algorithm_;
    step.reason = reason_;
  }

 private:
  Seconds add(Algorithm algorithm, const std::string& reason, const Estimate& estimate) {
    sum_ += estimate;
    if (algorithm_.empty() || estimate.total > longest_) {
      longest_ = estimate.total;
      algorithm_ = name(algorithm);
      reason_ = reason;
    }
    return estimate.total;
  }

  const Fabric& fabric_;
  const CostModel& model_;
  Estimate sum_;
  Seconds longest_;
  std::string algorithm_, reason_;
};

/// Buckets become ready evenly over the last backward pass; each starts when it is ready and the one before is over.
/// What is left when the pass ends is exposed.
Seconds exposed(Sum& sum, Bytes payload, Seconds backward, const StepOptions& options) {
  const auto count = std::max(1.0, std::ceil(payload / options.bucket));
  Seconds end;
  for (double bucket = 1; bucket <= count; ++bucket) {
    end = std::max(end, bucket / count * backward) + sum.add(Collective::all_reduce, 1 / count * payload);
  }
  return std::max(Seconds(0), end - backward);
}

Bytes packed_bytes(const TrafficList& exchanges) {
  double bytes = 0;
  for (const Traffic& traffic : exchanges) {
    if (traffic.collective == Collective::all_to_all) bytes += as_double(traffic.payload_bytes);
  }
  return Bytes(bytes);
}

}  // namespace

std::vector<Request> hierarchical_exchange(Bytes dense, Bytes packed, const Fabric& fabric) {
  const double width = as_double(fabric.width()), nodes = as_double(fabric.nodes());
  return {{Collective::reduce_scatter, Scope::local, Algorithm::ring, dense},
          {Collective::all_to_all, Scope::rail, Algorithm::burst, 1 / width * packed},
          {Collective::all_gather, Scope::rail, Algorithm::ring, 1 / (width * nodes) * packed},
          {Collective::all_gather, Scope::local, Algorithm::ring, 1 / width * packed}};
}

std::vector<Plan> step_plans(const StepTraffic& traffic, const Fabric& fabric, const CostModel& model,
                             const StepOptions& options) {
  const bool hierarchical = options.hierarchical && traffic.compressed > 0;
  std::vector<Plan> plans;
  if (hierarchical) {
    const Bytes dense(options.gradient_bytes * as_double(traffic.compressed));
    for (const Request& each : hierarchical_exchange(dense, packed_bytes(traffic.exchanges), fabric)) {
      plans.push_back(plan(each, fabric));
    }
  }
  for (const Traffic& each : traffic.exchanges) {
    if (hierarchical && !is_gradient(each)) continue;
    const Bytes payload = payload_of(each, options);
    const Algorithm algorithm = choose(each.collective, payload, fabric, model).algorithm;
    plans.push_back(plan({each.collective, Scope::all, algorithm, payload}, fabric));
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
  const Gpu& gpu = find_gpu(fabric.cluster().gpu);
  const bool hierarchical = options.hierarchical && traffic.compressed > 0;
  const Index coded = hierarchical ? traffic.compressed / fabric.width() : traffic.compressed;
  step.codec = sweep(gpu, coded, bytes_per_element(options.codec));
  Sum sum(fabric, model);
  if (hierarchical) {
    const Bytes dense(options.gradient_bytes * as_double(traffic.compressed));
    for (const Request& each : hierarchical_exchange(dense, packed_bytes(traffic.exchanges), fabric)) sum.add(each);
  }
  bool overlapped = false;
  Seconds behind;  // what follows the backward pass
  for (const Traffic& each : traffic.exchanges) {
    if (hierarchical && !is_gradient(each)) continue;
    const Bytes payload = payload_of(each, options);
    if (options.overlap == Overlap::buckets && is_gradient(each) && traffic.compressed == 0) {
      behind += exposed(sum, payload, slower * compute.last_backward, options);
      overlapped = true;
    } else {
      behind += sum.add(each.collective, payload);
    }
  }
  sum.finish(step);
  step.communication = overlapped ? behind : step.all_communication;
  if (overlapped && fabric.ranks() > 1) step.backward += slower * options.stretch * compute.last_backward;
  step.step = step.forward + step.backward + step.communication + step.codec + step.optimizer;
  return step;
}

double mixed_speedup(double warmup_share, double speedup) {
  return 1 / (warmup_share + (1 - warmup_share) / speedup);
}

}  // namespace onebit::netmodel
