#pragma once
// Analyses of one log as tables, for the terminal and for reports.

#include <string>
#include <vector>

#include "analysis/freeze/step_sizes.hpp"
#include "analysis/freeze/variance.hpp"
#include "analysis/theory/theory.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Return the parts of an analysis; a long series is represented by a few of its rows.
Table stability_table(const analysis::VarianceView& view);
/// Describes the rule whose outcome thresholds_table shows.
std::string rule_of(const analysis::VarianceView& view);
Table thresholds_table(const analysis::VarianceView& view);
/// Returns the tensors that become stable last.
Table tensors_table(std::vector<analysis::TensorStability> tensors);
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
/// Returns the lines below these two tables.
std::vector<std::string> theory_lines(const analysis::TheoryView& view);

}  // namespace onebit::experiments
