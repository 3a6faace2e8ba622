#pragma once
// What a sweep prints when it ends: its grid, and its answer in one sentence.

#include <iosfwd>

#include "experiments/sweep/grid.hpp"

namespace onebit::experiments {

/// Prints the mean final losses with their intervals: one row per arm and one column per value or, if that is too wide
/// for the terminal, one row per value or per cell. A cell without a loss shows the reason. The best cell of each arm
/// is marked.
void print_grid(const SweepGrid& grid, std::ostream& out);

/// Prints why points have no loss; points with the same reason share a line.
void print_reasons(const std::vector<Point>& points, const std::vector<PointResult>& results, std::ostream& out);

/// Prints a warning for arms whose best value is the smallest or largest tried, if the option is one that is searched:
/// the learning rate, or the option that is tuned.
void print_edges(const SweepGrid& grid, bool tuned, std::ostream& out);

/// Returns a sentence that says which arm at which value has the lowest mean loss, and how far the next best arm is
/// from it. folder: the sweep's folder.
std::string answer_of(const SweepGrid& grid, const std::string& folder);

}  // namespace onebit::experiments
