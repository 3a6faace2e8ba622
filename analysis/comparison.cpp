#include "analysis/comparison.hpp"

#include <algorithm>
#include <cmath>

#include "device/error.hpp"
#include "device/text.hpp"

namespace onebit::analysis {
namespace {

void require_all_comparable(std::span<const Arm> arms) {
  for (const Arm& arm : arms) {
    for (const Run& run : arm.runs) require_comparable(arms.front().runs.front(), run);
  }
}

std::size_t find_baseline(std::span<const Arm> arms, const std::string& name) {
  if (name.empty()) return 0;
  const auto found = std::ranges::find(arms, name, &Arm::name);
  if (found != arms.end()) return static_cast<std::size_t>(found - arms.begin());
  std::vector<std::string_view> names;
  for (const Arm& arm : arms) names.push_back(arm.name);
  throw ConfigError("no arm of this name", "baseline " + name, suggestion(name, names));
}

/// The learning rates behind each arm.
std::vector<Rates> rates_of(const std::vector<RateGrid>& grids, std::size_t arms) {
  std::vector<Rates> rates(arms);
  for (const RateGrid& grid : grids) {
    for (std::size_t i = 0; i < grid.arms.size(); ++i) rates[grid.arms[i]] = {grid.rates[i], grid.rates};
  }
  return rates;
}

/// By the arms at the best rates; by all where there are none.
double default_target(std::span<const Arm> arms, const std::vector<RateGrid>& grids) {
  std::vector<const Arm*> best, all;
  for (const RateGrid& grid : grids) {
    if (grid.best) best.push_back(&arms[grid.arms[*grid.best]]);
  }
  for (const Arm& arm : arms) all.push_back(&arm);
  return common_target(best.empty() ? all : best);
}

const RateGrid& grid_with(const std::vector<RateGrid>& grids, std::size_t arm) {
  return *std::ranges::find_if(
      grids, [&](const RateGrid& grid) { return std::ranges::find(grid.arms, arm) != grid.arms.end(); });
}

std::vector<Verdict> best_verdicts(std::span<const Arm> arms, const std::vector<RateGrid>& grids,
                                   const std::vector<Rates>& rates, std::size_t baseline) {
  std::vector<Verdict> verdicts;
  const RateGrid& first = grid_with(grids, baseline);
  for (const RateGrid& grid : grids) {
    const bool several = first.rates.size() > 1 || grid.rates.size() > 1;
    if (&grid == &first || !several || !first.best || !grid.best) continue;
    const std::size_t there = first.arms[*first.best], here = grid.arms[*grid.best];
    verdicts.push_back(judge(arms[there], arms[here], rates[there], rates[here]));
    verdicts.back().sentence = "at the best learning rate of each, " + verdicts.back().sentence;
    for (const std::string& warning : warnings_of(first, grid)) verdicts.back().warnings.push_back(warning);
  }
  return verdicts;
}

}  // namespace

Comparison compare(std::span<const Arm> arms, const ComparisonRequest& request, const netmodel::CostModel& model) {
  if (arms.empty()) throw ConfigError("no arms to compare", "");
  require_all_comparable(arms);
  const std::size_t baseline = find_baseline(arms, request.baseline);
  Comparison comparison;
  comparison.baseline = arms[baseline].name;
  comparison.grids = rate_grids(arms);
  comparison.target = std::isnan(request.target) ? default_target(arms, comparison.grids) : request.target;
  const std::vector<Rates> rates = rates_of(comparison.grids, arms.size());
  for (std::size_t i = 0; i < arms.size(); ++i) {
    comparison.arms.push_back(figures_of(arms[i], comparison.target, request.clusters, request.compute_seconds, model));
    comparison.arms.back().rates = rates[i];
    if (i == baseline) continue;
    comparison.verdicts.push_back(judge(arms[baseline], arms[i], rates[baseline], rates[i]));
  }
  comparison.best_rates = best_verdicts(arms, comparison.grids, rates, baseline);
  return comparison;
}

}  // namespace onebit::analysis
