#pragma once
// The analysis of one log as tables, for the terminal and for reports.

#include <string>
#include <vector>

#include "analysis/freeze/step_sizes.hpp"
#include "analysis/freeze/variance.hpp"
#include "analysis/theory/theory.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// The functions below return the parts of an analysis; they show only a few rows of a long series.
Table stability_table(const analysis::VarianceView& view);
/// Returns a description of the rules that thresholds_table evaluates.
std::string rule_of(const analysis::VarianceView& view);
Table thresholds_table(const analysis::VarianceView& view);
/// Returns the tensors that became stable last.
Table tensors_table(const analysis::VarianceView& view);
Table drift_table(const analysis::Drift& drift);
/// Returns the step sizes at the freeze, or at the end of a run that did not freeze, the longest steps first.
Table steps_table(const analysis::StepSizes& sizes);
Table compression_table(const analysis::CompressionSeries& series);
/// A measured constant with its names for people and for programs.
struct NamedMeasure {
  const char* name;
  const char* key;
  analysis::Measured measured;
};

std::vector<NamedMeasure> measures_of(const analysis::TheoryConstants& c);
Table constants_table(const analysis::TheoryConstants& constants);
Table bound_table(const std::vector<analysis::BoundRow>& rows);
/// Returns the lines to print below constants_table and bound_table.
std::vector<std::string> theory_lines(const analysis::TheoryView& view);

}  // namespace onebit::experiments
