#pragma once
// A comparison of arms by their logs, as tables and as JSON.

#include <iosfwd>

#include "analysis/compare/comparison.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Returns one row per arm, over its seeds.
Table arms_table(const std::vector<analysis::ArmFigures>& arms);
/// Names the baselines of the ratios in arms_table; there is at least one arm.
std::string baselines_of(const std::vector<analysis::ArmFigures>& arms);
/// Returns each arm's cost of reaching the target; the comparison has a target.
Table targets_table(const analysis::Comparison& comparison);

void print_comparison(const analysis::Comparison& comparison, std::ostream& out);
/// Prints the number of comparisons and their criterion, then each verdict with its warnings.
void print_verdicts(const analysis::Comparison& comparison, std::ostream& out);
Json to_json(const analysis::Comparison& comparison);

}  // namespace onebit::experiments
