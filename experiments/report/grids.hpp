#pragma once
// Arms of a comparison by name, and their grids of learning rates.

#include <string>
#include <vector>

#include "analysis/compare/comparison.hpp"

namespace onebit::experiments {

/// Returns the figures of the arm with this name, which must be an arm of the comparison.
const analysis::ArmFigures& figures_of(const analysis::Comparison& comparison, const std::string& name);

/// Returns the number of the grid that contains the arm; in all figures, this number also determines the arm's colour.
std::size_t grid_of(const analysis::Comparison& comparison, const std::string& arm);

/// Whether an arm is at the best rate of its grid; also true if the grid has no best rate. Verdicts name an arm at
/// another rate only if it was requested as a baseline.
bool is_at_best(const analysis::Comparison& comparison, const std::string& arm);

/// If an arm is at the best rate of its grid, returns the name of the grid, which omits the rate; otherwise returns the
/// arm's own name.
std::string name_at_best(const analysis::Comparison& comparison, const std::string& arm);

/// Returns the grid of an arm at its best rate, with all rates that were tried, even those that --best left out. The
/// member `arms` has only the arms that --best did not leave out.
analysis::RateGrid whole_grid(const analysis::Comparison& comparison, const std::string& arm);

/// Returns the names of the arms at the best rate of their grids, and of the arms in whose grids only one rate was
/// tried; if there are no such arms, returns the names of all arms.
std::vector<std::string> best_arms(const analysis::Comparison& comparison);

/// Returns the names of best_arms() and, in addition, of those baselines of verdicts that were requested at another
/// rate.
std::vector<std::string> front_arms(const analysis::Comparison& comparison);

}  // namespace onebit::experiments
