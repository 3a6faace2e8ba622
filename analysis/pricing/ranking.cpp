#include "analysis/pricing/ranking.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "device/base/error.hpp"
#include "optim/optimizer.hpp"

namespace onebit::analysis {
namespace {

using netmodel::Cluster;
using netmodel::Seconds;

void extend(Ranged& ranged, double value) {
  ranged.low = std::min(ranged.low, value);
  ranged.high = std::max(ranged.high, value);
}

/// Prices a job on the cluster, and on slower and faster links.
RankedMethod ranked(const Job& job, const Cluster& cluster, const netmodel::CostModelConfig& config, Ranged& dense) {
  RankedMethod method;
  method.optimizer = job.optimizer;
  method.schedule = job.schedule;
  method.compresses = std::ranges::any_of(job.stages, &StageTraffic::compressed);
  method.rare =
      std::ranges::any_of(job.stages.back().kinds, [](const auto& kind) { return kind.traffic.exchanges.empty(); });
  method.price = price_job(job, cluster, config);
  const auto run_rate = [](const ClusterPrice& price) {
    return price.dense.samples_per_second * price.end_to_end_speedup;
  };
  const auto exactly = [](double value) { return Ranged{value, value, value}; };
  method.samples_per_second = exactly(run_rate(method.price));
  method.speedup = exactly(method.price.end_to_end_speedup);
  dense = exactly(method.price.dense.samples_per_second);
  const double uncertainty = netmodel::uncertainty_of(cluster);
  const auto model = netmodel::make_cost_model(config);
  for (const double time : {1 + uncertainty, 1 - uncertainty}) {
    const ClusterPrice price = price_steps(job, netmodel::with_faster_links(cluster, 1 / time), *model);
    extend(method.samples_per_second, run_rate(price));
    extend(method.speedup, price.end_to_end_speedup);
    extend(dense, price.dense.samples_per_second);
  }
  return method;
}

/// Whether two methods have the same steps, as far as their prices show.
bool alike(const RankedMethod& one, const RankedMethod& other) {
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); };
  const auto last = [](const RankedMethod& method) -> const netmodel::StepEstimate& {
    return method.price.stages.back().step;
  };
  return one.codec == other.codec && one.compresses == other.compresses && one.rare == other.rare &&
         near(one.samples_per_second.value, other.samples_per_second.value) &&
         near(one.speedup.low, other.speedup.low) && near(one.speedup.high, other.speedup.high) &&
         near(last(one).step.value, last(other).step.value) && near(last(one).codec.value, last(other).codec.value) &&
         near(last(one).exchange.nic_bytes.value, last(other).exchange.nic_bytes.value);
}

void add(std::vector<RankedMethod>& methods, RankedMethod method) {
  const auto same = std::ranges::find_if(methods, [&](const RankedMethod& other) { return alike(method, other); });
  if (same == methods.end()) {
    methods.push_back(std::move(method));
  } else {
    same->same.push_back(method.optimizer);
  }
}

}  // namespace

Ranking rank(std::span<const JobPlan> plans, const Cluster& cluster, const netmodel::CostModelConfig& config) {
  Ranking ranking;
  ranking.cluster = cluster;
  std::exception_ptr first;
  for (const JobPlan& plan : plans) {
    const optim::OptimizerConfig& optimizer = plan.run.optimizer;
    const std::string codec = optim::codecs_of(optimizer) == optim::Codecs::none ? "" : optimizer.exchange.up.name;
    try {
      Job job = plan_job(plan, cluster);
      job.rules.hybrid.same_boundary = true;
      RankedMethod method = ranked(job, cluster, config, ranking.dense);
      method.codec = codec;
      ranking.workload = job.name;
      ranking.hybrid = job.rules.hybrid;
      ranking.tables = job.workload.tables.count > 0;
      ranking.nodes = method.price.nodes;
      ranking.width = method.price.width;
      ranking.batch = job.batch;
      ranking.memory = netmodel::memory_of(job.workload, job.batch, false, netmodel::Fabric(cluster, job.workers),
                                           job.rules.step.sharding);
      ranking.memory.tables = method.price.memory->tables;
      ranking.accumulation = job.accumulation;
      add(ranking.methods, std::move(method));
    } catch (const ConfigError& error) {
      if (!first) first = std::current_exception();
      ranking.refused.emplace_back(codec.empty() ? optimizer.name : optimizer.name + ":" + codec, error.what());
    }
  }
  if (ranking.methods.empty() && first) std::rethrow_exception(first);
  std::ranges::stable_sort(ranking.methods, std::ranges::greater(),
                           [](const RankedMethod& method) { return method.samples_per_second.value; });
  return ranking;
}

WaitsFor waits_for(const netmodel::StepEstimate& step) {
  const netmodel::Link::Kind link = step.exchange.bottleneck.kind;
  const bool local = link == netmodel::Link::Kind::gpu_out || link == netmodel::Link::Kind::gpu_in;
  WaitsFor exchange = local ? WaitsFor::gpu_links : WaitsFor::network;
  if (step.exchange.latency > step.exchange.bandwidth) exchange = WaitsFor::latency;
  const std::array<std::pair<Seconds, WaitsFor>, 4> parts = {{{step.forward + step.backward, WaitsFor::computing},
                                                              {step.communication, exchange},
                                                              {step.codec, WaitsFor::codec},
                                                              {step.optimizer, WaitsFor::update}}};
  return std::ranges::max_element(parts, {}, &std::pair<Seconds, WaitsFor>::first)->second;
}

}  // namespace onebit::analysis
