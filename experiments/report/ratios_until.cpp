#include "experiments/report/ratios_until.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/compare/target.hpp"

namespace onebit::experiments {
namespace {

using analysis::ArmFigures;
using analysis::RunCurve;

/// Returns the mean over an arm's finished runs of place(x, losses, target), with x on one axis.
template <class Place>
double mean_until(const ArmFigures& arm, std::size_t axis, double target, const Place& place) {
  double sum = 0, count = 0;
  for (const RunCurve& run : arm.run_curves) {
    if (run.outcome != analysis::Outcome::finished) continue;
    sum += place(run.x[axis], run.losses, target);
    ++count;
  }
  return sum / count;
}

/// The costs of a baseline and of an arm until a loss is reached, on one axis, for a seed that finished in both.
struct SeedCosts {
  double there = 0, here = 0;

  double ratio() const { return there / here; }
};

std::vector<SeedCosts> costs_by_seed(const Pair& pair, std::size_t axis, double target) {
  std::vector<SeedCosts> costs;
  for (const RunCurve& there : pair.there.run_curves) {
    const auto here = std::ranges::find(pair.here.run_curves, there.seed, &RunCurve::seed);
    if (there.outcome != analysis::Outcome::finished || here == pair.here.run_curves.end()) continue;
    if (here->outcome != analysis::Outcome::finished) continue;
    costs.push_back({analysis::reached_at(there.x[axis], there.losses, target),
                     analysis::reached_at(here->x[axis], here->losses, target)});
  }
  return costs;
}

/// Returns the mean and the half width of the 95% interval of the logarithms of ratios over the seeds.
analysis::Interval log_interval(const std::vector<double>& ratios) {
  std::vector<double> logs;
  for (const double ratio : ratios) logs.push_back(std::log(ratio));
  return analysis::mean_interval(logs);
}

}  // namespace

double reached_in_the_mean(const ArmFigures& arm, std::size_t axis, double target) {
  return mean_until(arm, axis, target, analysis::reached_at);
}

std::vector<double> ratios_until(const Pair& pair, std::size_t axis, double target) {
  std::vector<double> ratios;
  for (const SeedCosts& seed : costs_by_seed(pair, axis, target)) ratios.push_back(seed.ratio());
  const bool known = std::ranges::all_of(ratios, [](double ratio) { return std::isfinite(ratio) && ratio > 0; });
  return known ? ratios : std::vector<double>();
}

double ratio_until(const Pair& pair, std::size_t axis, double target) {
  const std::vector<double> ratios = ratios_until(pair, axis, target);
  if (!ratios.empty()) return std::exp(log_interval(ratios).mean);
  SeedCosts sum{0, 0};
  for (const SeedCosts& seed : costs_by_seed(pair, axis, target)) {
    sum.there += seed.there;
    sum.here += seed.here;
  }
  return sum.here != 0 ? sum.ratio()
                       : reached_in_the_mean(pair.there, axis, target) / reached_in_the_mean(pair.here, axis, target);
}

Bounds interval_of(const std::vector<double>& ratios) {
  const analysis::Interval interval = log_interval(ratios);
  return {std::exp(interval.mean - interval.half_width), std::exp(interval.mean + interval.half_width)};
}

Bounds range_of_estimate(const Pair& pair, std::size_t cluster) {
  const std::vector<Speed> speeds = speeds_of(pair);
  const auto speed = std::ranges::find(speeds, cluster, &Speed::cluster);
  if (speed == speeds.end() || !is_visible(speed->ratio)) return {1, 1};
  return {speed->low / speed->ratio, speed->high / speed->ratio};
}

Bounds bounds_until(const Pair& pair, std::size_t axis, double target) {
  const auto ratio = [&](const auto& there, const auto& here) {
    return mean_until(pair.there, axis, target, there) / mean_until(pair.here, axis, target, here);
  };
  Bounds bounds{ratio(analysis::evaluated_before, analysis::evaluated_at),
                ratio(analysis::evaluated_at, analysis::evaluated_before)};
  if (axis >= kSeconds) {
    const Bounds of_estimate = range_of_estimate(pair, axis - kSeconds);
    bounds.low *= of_estimate.low;
    bounds.high *= of_estimate.high;
  }
  return bounds;
}

}  // namespace onebit::experiments
