#pragma once
// Analyses of one log as tables, for the terminal and for reports.

#include <string>
#include <vector>

#include "analysis/freeze/step_sizes.hpp"
#include "analysis/theory/theory.hpp"
#include "analysis/freeze/variance.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// The parts of an analysis; a long series is shown by a few of its rows.
Table stability_table(const analysis::VarianceView& view);
/// The rule whose outcome thresholds_table shows.
std::string rule_of(const analysis::VarianceView& view);
Table thresholds_table(const analysis::VarianceView& view);
/// Those that become stable last.
Table tensors_table(std::vector<analysis::TensorStability> tensors);
Table drift_table(const analysis::Drift& drift);
/// At the freeze, or at the end of a run that did not freeze; the longest steps first.
Table steps_table(const analysis::StepSizes& sizes);
Table compression_table(const analysis::CompressionSeries& series);
/// A measured constant with what people and programs call it.
struct NamedMeasure {
  const char* name;
  const char* key;
  analysis::Measured measured;
};

std::vector<NamedMeasure> measures_of(const analysis::TheoryConstants& c);
Table constants_table(const analysis::TheoryConstants& constants);
Table bound_table(const std::vector<analysis::BoundRow>& rows);
/// What stands below these two.
std::vector<std::string> theory_lines(const analysis::TheoryView& view);

}  // namespace onebit::experiments
