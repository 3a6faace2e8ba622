#pragma once
// The interactive chart of a report.

#include <span>
#include <string>
#include <vector>

#include "analysis/compare/comparison.hpp"

namespace onebit::experiments {

/// Returns the names of the arms at the best rate of their grids; all arms where no grid has a best rate.
std::vector<std::string> best_arms(const analysis::Comparison& comparison);

/// Returns the chart with its data: loss of every arm and run against steps, samples, bytes and the seconds on each
/// cluster. At first it shows the arms of these names. It is drawn by a script in the page; without scripts it stays
/// hidden. Long curves are thinned. Empty where this program was built without the chart's library.
std::string chart_html(const analysis::Comparison& comparison, std::span<const std::string> shown);

}  // namespace onebit::experiments
