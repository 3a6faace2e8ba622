#include "analysis/pricing/price_sweep.hpp"

#include <algorithm>
#include <cmath>

namespace onebit::analysis {
namespace {

SpeedupCurve curve_of(const Job& job, const netmodel::Cluster& cluster, const netmodel::CostModelConfig& config,
                      const std::vector<double>& rates) {
  SpeedupCurve curve;
  curve.gpus_per_node = cluster.gpus_per_node;
  curve.break_even = price_job(job, cluster, config).break_even;
  const auto model = netmodel::make_cost_model(config);
  for (const double rate : rates) {
    curve.rates.push_back(rate);
    curve.speedups.push_back(speedup_at(job, with_rate(cluster, netmodel::BytesPerSecond(rate)), *model));
  }
  return curve;
}

}  // namespace

std::vector<double> spaced_rates(double low, double high, Index count) {
  std::vector<double> rates;
  for (Index i = 0; i < count; ++i) {
    rates.push_back(low * std::pow(high / low, static_cast<double>(i) / static_cast<double>(count - 1)));
  }
  return rates;
}

std::vector<SpeedupCurve> sweep_bandwidth(const Job& job, const netmodel::Cluster& cluster,
                                          const netmodel::CostModelConfig& config, const std::vector<double>& rates,
                                          const std::vector<Index>& gpus_per_node) {
  if (gpus_per_node.empty()) return {curve_of(job, cluster, config, rates)};
  std::vector<SpeedupCurve> curves;
  for (const Index width : gpus_per_node) {
    netmodel::Cluster other = cluster;
    other.nodes = 0;
    other.gpus_per_node = width;
    curves.push_back(curve_of(job, other, config, rates));
  }
  return curves;
}

std::optional<netmodel::BytesPerSecond> rate_if_shorter(const Job& job, const netmodel::Cluster& cluster,
                                                        const netmodel::CostModelConfig& config, double share) {
  constexpr double slowest = 1e5, fastest = kFastestTried.value;
  constexpr Index count = 71;  // ten rates per factor of ten
  const auto model = netmodel::make_cost_model(config);
  const auto is_shorter = [&](double rate) {
    return speedup_at(job, with_rate(cluster, netmodel::BytesPerSecond(rate)), *model) >= 1 / (1 - share);
  };
  const std::vector<double> rates = spaced_rates(slowest, fastest, count);
  const auto found = std::find_if(rates.rbegin(), rates.rend(), is_shorter);
  if (found == rates.rend()) return std::nullopt;
  double low = *found, high = found == rates.rbegin() ? low : *(found - 1);
  while (high / low > 1 + 1e-6) {
    const double middle = std::sqrt(low * high);
    (is_shorter(middle) ? low : high) = middle;
  }
  return netmodel::BytesPerSecond(low);
}

ScalingPrice sweep_nodes(const JobPlan& plan, const netmodel::Cluster& cluster, const netmodel::CostModelConfig& config,
                         const std::vector<Index>& nodes) {
  const Index batch = plan.run.batch, fewest = *std::ranges::min_element(nodes);
  ScalingPrice scaling;
  for (const Index count : nodes) {
    netmodel::Cluster sized = cluster;
    sized.nodes = count;
    JobPlan filled = plan;
    filled.workers = 0;
    Job job = plan_job(filled, sized);
    const auto point = [&](Index micro_batch) {
      job.batch = micro_batch;
      const ClusterPrice price = price_job(job, sized, config);
      return ScalingPoint{count, job.workers, micro_batch, price.dense.samples_per_second,
                          price.stages.back().samples_per_second};
    };
    scaling.weak.push_back(point(batch));
    const bool divides = batch * fewest % count == 0;
    const ScalingPoint none{count, job.workers, 0, PriceRules::kNotGiven, PriceRules::kNotGiven};
    scaling.strong.push_back(divides ? point(batch * fewest / count) : none);
  }
  return scaling;
}

}  // namespace onebit::analysis
