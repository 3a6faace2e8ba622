#include "experiments/report/grids.hpp"

#include <algorithm>

namespace onebit::experiments {

using analysis::ArmFigures;
using analysis::Comparison;

const ArmFigures& figures_of(const Comparison& comparison, const std::string& name) {
  return *std::ranges::find(comparison.arms, name, &ArmFigures::name);
}

std::size_t grid_of(const analysis::Comparison& comparison, const std::string& arm) {
  const auto holds = [&](const analysis::RateGrid& grid) {
    return std::ranges::any_of(grid.arms, [&](std::size_t a) { return comparison.arms[a].name == arm; });
  };
  return static_cast<std::size_t>(std::ranges::find_if(comparison.grids, holds) - comparison.grids.begin());
}

bool is_at_best(const Comparison& comparison, const std::string& arm) {
  const std::size_t index = grid_of(comparison, arm);
  if (index == comparison.grids.size()) return true;
  const analysis::RateGrid& grid = comparison.grids[index];
  return !grid.best || comparison.arms[grid.arms[*grid.best]].name == arm;
}

std::string name_at_best(const Comparison& comparison, const std::string& arm) {
  const std::size_t index = grid_of(comparison, arm);
  return index == comparison.grids.size() || !is_at_best(comparison, arm) ? arm : comparison.grids[index].name;
}

analysis::RateGrid whole_grid(const Comparison& comparison, const std::string& arm) {
  analysis::RateGrid grid = comparison.grids[grid_of(comparison, arm)];
  const analysis::Rates& rates = figures_of(comparison, arm).rates;
  const auto best = std::ranges::find(rates.tried, rates.rate);
  grid.rates = rates.tried;
  if (!is_at_best(comparison, arm)) grid.best.reset();
  if (grid.best)
    grid.best = best == rates.tried.end() ? std::nullopt : std::optional<std::size_t>(best - rates.tried.begin());
  return grid;
}

std::vector<std::string> best_arms(const analysis::Comparison& comparison) {
  std::vector<std::string> best, all;
  for (const analysis::RateGrid& grid : comparison.grids) {
    const ArmFigures& arm = comparison.arms[grid.arms[grid.best.value_or(0)]];
    if (grid.best || arm.rates.tried.size() <= 1) best.push_back(arm.name);
  }
  for (const ArmFigures& arm : comparison.arms) all.push_back(arm.name);
  return best.empty() ? all : best;
}

std::vector<std::string> front_arms(const analysis::Comparison& comparison) {
  std::vector<std::string> names = best_arms(comparison);
  for (const analysis::Verdict& verdict : comparison.verdicts) {
    if (std::ranges::find(names, verdict.baseline) == names.end() && !is_at_best(comparison, verdict.baseline))
      names.push_back(verdict.baseline);
  }
  return names;
}

}  // namespace onebit::experiments
