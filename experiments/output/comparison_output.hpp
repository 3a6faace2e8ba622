#pragma once
// Arms that were compared by their logs, as tables and as JSON.

#include <iosfwd>

#include "analysis/compare/comparison.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// An arm a row, over its seeds.
Table arms_table(const std::vector<analysis::ArmFigures>& arms);
/// What the ratios of arms_table are against; there is an arm.
std::string baselines_of(const std::vector<analysis::ArmFigures>& arms);
/// Per step in each stage, and of the whole run, on the clusters that there are.
Table communication_table(const std::vector<analysis::ArmFigures>& arms);
Table times_table(const std::vector<analysis::ArmFigures>& arms);
/// What it took each arm to reach the target, which there is.
Table targets_table(const analysis::Comparison& comparison);

void print_comparison(const analysis::Comparison& comparison, std::ostream& out);
/// How many comparisons there are and by what they are judged, then each with its warnings.
void print_verdicts(const analysis::Comparison& comparison, std::ostream& out);
Json to_json(const analysis::Comparison& comparison);

}  // namespace onebit::experiments
