#include "netmodel/step/step_model.hpp"

#include <algorithm>
#include <cmath>

#include "device/base/error.hpp"
#include "netmodel/plan/nccl.hpp"
#include "netmodel/step/buckets.hpp"

namespace onebit::netmodel {
namespace {

double as_double(Index value) {
  return static_cast<double>(value);
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

bool is_mean(const Traffic& traffic) {
  return traffic.collective == Collective::all_reduce && traffic.type == WireType::fp32 && !is_of_boundary(traffic);
}

bool carries_gradients(const StepTraffic& step, const Traffic& traffic) {
  return step.compressed == 0 && step.gradients && is_mean(traffic);
}

/// Number of messages of the payload's size that a worker receives, its own included. The parts that it receives in an
/// all-to-all count as one message.
double messages_received(const Traffic& traffic) {
  switch (traffic.collective) {
    case Collective::all_gather:
      return as_double(traffic.group_size);
    case Collective::tree:
      return traffic.direction == Direction::down ? 1
                                                  : as_double(messages_sent(traffic.collective, traffic.group_size));
    default:
      return 1;
  }
}

/// Memory that a fused codec touches in a step. In a hierarchical exchange a GPU encodes and serves its share of the
/// node's vector, and decodes the whole result.
Bytes fused_codec_bytes(const StepTraffic& step, double share) {
  const CodecPasses& passes = step.passes;
  const double elements = as_double(step.compressed);
  double bytes = (share * passes.encode + passes.decode) * elements;
  for (const Traffic& traffic : step.exchanges) {
    if (is_mean(traffic) || is_of_boundary(traffic)) continue;
    const double part = traffic.direction == Direction::down ? 1 : share, payload = as_double(traffic.payload_bytes);
    const double messages = messages_received(traffic), received = messages * payload;
    // However many elements of a message are scattered, adding the message touches the vector at most once
    const double scattered = std::min(passes.scattered * received, 2 * sizeof(float) * elements * messages);
    bytes += part * (payload + received + scattered);
    if (traffic.collective == Collective::all_to_all) bytes += passes.serve * elements / as_double(traffic.group_size);
  }
  return Bytes(bytes);
}

/// Bytes per element of ZeRO++'s weights (int8) and gradients (int4). The scales of their blocks are left out.
constexpr double kInt8 = 1, kInt4 = 0.5;

/// Memory that ZeRO++ touches per element and micro-batch. Each GPU encodes its share of the weights, decodes all of
/// them and keeps its share of the node's copy. It encodes its gradients, and decodes and adds those of its node. It
/// then encodes the sum of its share, and decodes and adds the sums of the other nodes. Hops without receivers cost
/// nothing.
double zeropp_bytes(double type, const Fabric& fabric) {
  const double width = as_double(fabric.width()), ranks = as_double(fabric.ranks());
  if (ranks == 1) return 0;
  double bytes = (type + kInt8) / ranks + (kInt8 + type);
  if (fabric.nodes() > 1) bytes += type / width;
  if (fabric.width() > 1) bytes += (type + kInt4) + (kInt4 + type / width);
  if (fabric.nodes() > 1) bytes += (type + kInt4) / width + (kInt4 / width + type / ranks);
  return bytes;
}

double micro_batches(const ComputeTimes& compute) {
  return compute.last_backward.value > 0 ? std::round(compute.backward / compute.last_backward) : 1;
}

/// Returns the time that a dense step spends on encoding weights and gradients.
Seconds zeropp_time(const StepTraffic& step, const ComputeTimes& compute, const Fabric& fabric,
                    const StepOptions& options) {
  double elements = 0;
  for (const Traffic& traffic : step.exchanges) {
    if (carries_gradients(step, traffic)) elements += as_double(traffic.payload_bytes) / sizeof(float);
  }
  return Bytes(micro_batches(compute) * zeropp_bytes(options.gradient_bytes, fabric) * elements) / fabric.gpu().memory;
}

/// Returns the time of a step's codec.
Seconds codec_time(const StepTraffic& step, const ComputeTimes& compute, const Fabric& fabric,
                   const StepOptions& options) {
  if (step.compressed == 0) {
    return options.sharding == Sharding::zeropp ? zeropp_time(step, compute, fabric, options) : Seconds();
  }
  const double share = options.hierarchical ? 1 / as_double(fabric.width()) : 1;
  if (step.passes.encode == 0) {
    throw ConfigError("the cost of the run's codec is not known", "codec",
                      "price it with a version of the program that has this codec");
  }
  if (options.codec == CodecKernels::fused) return fused_codec_bytes(step, share) / fabric.gpu().memory;
  if (step.passes.released == 0) {
    throw ConfigError("no figure is known for this codec's released code", "step.codec released",
                      "use --step.codec fused, or --codec sign-l2");
  }
  return Bytes(share * step.passes.released * as_double(step.compressed)) / fabric.gpu().memory;
}

Bytes payload_of(const StepTraffic& step, const Traffic& traffic, const StepOptions& options) {
  const double share = carries_gradients(step, traffic) ? options.gradient_bytes / sizeof(float) : 1;
  return Bytes(share * as_double(traffic.payload_bytes));
}

/// Returns a step's exchanges with the float32 all-reduces of its tensors merged into one, in the place of the first.
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

  void add(Collective collective, Bytes payload) { add(price(collective, payload, fabric_, model_), 1); }
  void add(const Priced& priced, double times) {
    add(priced.choice.algorithm, priced.choice.reason, priced.estimate, times);
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

/// The exchanges of gradients and of sharded weights, and the passes that they may overlap with.
class GradientExchange {
 public:
  GradientExchange(Bytes gradients, const Fabric& fabric, const CostModel& model, const StepOptions& options)
      : gradients_(gradients), fabric_(fabric), model_(model), options_(options) {}

  /// Adds the exchanges of a step to a sum and to the passes. Returns the time that is hidden.
  Seconds add(const ComputeTimes& compute, double slower, Sum& sum, StepEstimate& step) const {
    const Bytes block = 1 / as_double(fabric_.ranks()) * gradients_;
    const Exchanged reduced{Collective::reduce_scatter, gradients_}, gathered{Collective::all_gather, block};
    const Seconds last = slower * compute.last_backward;
    switch (options_.sharding) {
      case Sharding::none:
        return during(last, 1, {{Collective::all_reduce, gradients_}}, sum, step.backward);
      case Sharding::zero1:
      case Sharding::zero2: {
        const Seconds hidden = during(last, 1, {reduced}, sum, step.backward);
        sum.add(Collective::all_gather, block);
        return hidden;
      }
      case Sharding::zero3: {
        const double times = micro_batches(compute);
        return during(1 / times * step.forward, times, {gathered}, sum, step.forward) +
               during(last, times, {gathered, reduced}, sum, step.backward);
      }
      case Sharding::zeropp: {
        const double times = micro_batches(compute), width = as_double(fabric_.width());
        const Bytes int8 = kInt8 / options_.gradient_bytes * gradients_, int4 = kInt4 / kInt8 * int8;
        return during(1 / times * step.forward, times,
                      {{Collective::all_gather, 1 / as_double(fabric_.ranks()) * int8}}, sum, step.forward) +
               during(last, times,
                      {{Collective::all_gather, 1 / width * gradients_, Scope::local},
                       {Collective::all_to_all, int4, Scope::local},
                       {Collective::all_to_all, 1 / width * int4, Scope::rail}},
                      sum, step.backward);
      }
    }
    return {};
  }

 private:
  /// Adds exchanges in each of several equal passes. Returns the hidden time.
  Seconds during(Seconds pass, double times, const std::vector<Exchanged>& exchanged, Sum& sum, Seconds& passes) const {
    const Buckets buckets = overlaps_backward(fabric_, options_)
                                ? cheapest_buckets(exchanged, pass, fabric_, model_, options_.bucket, options_.stretch)
                                : single_bucket(exchanged, pass, fabric_, model_);
    for (const Priced& priced : buckets.one) sum.add(priced, times * buckets.count);
    passes += times * buckets.stretched;
    return times * (buckets.total() - buckets.exposed);
  }

  Bytes gradients_;
  const Fabric& fabric_;
  const CostModel& model_;
  const StepOptions& options_;
};

/// Returns the hierarchical form of a compressed step: packed vectors up and down, and other gathered data (scales).
std::vector<Request> hierarchical_requests(const StepTraffic& step, const Fabric& fabric, const StepOptions& options) {
  Bytes up, down;
  std::vector<Bytes> gathered;
  for (const Traffic& traffic : step.exchanges) {
    if (is_mean(traffic)) continue;
    if (traffic.collective == Collective::all_to_all && !is_of_boundary(traffic)) {
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
    if (carries_gradients(traffic, each) && options.sharding != Sharding::none)
      throw ConfigError("the schedule of sharded steps is not known", "goal", "leave out --step.sharding");
    plans.push_back(
        plan(request_of(each.collective, payload, choose(each.collective, payload, fabric, model)), fabric));
  }
  return plans;
}

double slowdown(const Fabric& fabric) {
  const Cluster& cluster = fabric.cluster();
  double most = 1;
  for (const NodeFactor& straggler : cluster.stragglers) {
    if (straggler.node < fabric.nodes()) most = std::max(most, straggler.factor);
  }
  return cluster.jitter == 0 ? most : most * (1 + cluster.jitter * expected_maximum(fabric.ranks()));
}

bool overlaps_backward(const Fabric& fabric, const StepOptions& options) {
  if (options.overlap == Overlap::cluster) return fabric.cluster().overlaps;
  return options.overlap == Overlap::buckets;
}

Bytes dense_gradients(const StepTraffic& traffic, const StepOptions& options) {
  Bytes sum;
  for (const Traffic& each : traffic.exchanges) {
    if (carries_gradients(traffic, each)) sum += payload_of(traffic, each, options);
  }
  return sum;
}

StepTraffic without_dense_gradients(StepTraffic traffic) {
  std::erase_if(traffic.exchanges, [&](const Traffic& each) { return carries_gradients(traffic, each); });
  return traffic;
}

StepEstimate estimate_step(const ComputeTimes& compute, const StepTraffic& traffic, const Fabric& fabric,
                           const CostModel& model, const StepOptions& options) {
  const double slower = slowdown(fabric);
  StepEstimate step;
  step.forward = slower * compute.forward;
  step.backward = slower * compute.backward;
  step.optimizer = compute.optimizer;
  const bool hierarchical = options.hierarchical && traffic.compressed > 0;
  step.codec = codec_time(traffic, compute, fabric, options);
  Sum sum(fabric, model);
  if (hierarchical) {
    for (const Request& each : hierarchical_requests(traffic, fabric, options)) sum.add(each);
  }
  Seconds hidden;
  for (const Traffic& each : fused(traffic)) {
    if (hierarchical && !is_mean(each)) continue;
    const Bytes payload = payload_of(traffic, each, options);
    if (carries_gradients(traffic, each)) {
      hidden += GradientExchange(payload, fabric, model, options).add(compute, slower, sum, step);
      if (options.sharding != Sharding::none) step.optimizer = 1 / as_double(fabric.ranks()) * compute.optimizer;
    } else {
      sum.add(each.collective, payload);
    }
  }
  sum.finish(step);
  step.communication = step.all_communication - std::max(hidden, Seconds(0));  // rounding may make it negative
  step.step = step.forward + step.backward + step.communication + step.codec + step.optimizer;
  return step;
}

double mixed_speedup(double warmup_share, double speedup) {
  return 1 / (warmup_share + (1 - warmup_share) / speedup);
}

}  // namespace onebit::netmodel
