#pragma once
// Arms of a comparison by name, and their grids of learning rates.

#include <string>
#include <vector>

#include "analysis/compare/comparison.hpp"

namespace onebit::experiments {

/// Returns the figures of the arm with this name, which must be an arm of the comparison.
const analysis::ArmFigures& figures_of(const analysis::Comparison& comparison, const std::string& name);

/// Returns the number of the grid that an arm is in, which is the number of its colour in all figures.
std::size_t grid_of(const analysis::Comparison& comparison, const std::string& arm);

/// Whether an arm is at the best rate of its grid, or the grid has none. Verdicts name an arm at another rate only if
/// it was requested as a baseline.
bool is_at_best(const analysis::Comparison& comparison, const std::string& arm);

/// Returns the name of an arm's grid, which omits the rate, if the arm is at its best rate; otherwise the arm's own
/// name.
std::string name_at_best(const analysis::Comparison& comparison, const std::string& arm);

/// Returns the grid of an arm at its best rate, with all rates that were tried, even those that --best left out; its
/// `arms` contain only those that are left.
analysis::RateGrid whole_grid(const analysis::Comparison& comparison, const std::string& arm);

/// Returns the names of the arms at the best rate of their grids, and of the arms in whose grids only one rate was
/// tried; all arms if there are none.
std::vector<std::string> best_arms(const analysis::Comparison& comparison);

/// Returns the best arms and those baselines of verdicts that are at another rate, because they were requested.
std::vector<std::string> front_arms(const analysis::Comparison& comparison);

}  // namespace onebit::experiments
