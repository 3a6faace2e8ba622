#pragma once
// The figures of a report.

#include <span>
#include <string>
#include <vector>

#include "analysis/compare/comparison.hpp"
#include "analysis/freeze/step_sizes.hpp"
#include "analysis/freeze/variance.hpp"
#include "analysis/pictures/plot.hpp"
#include "analysis/theory/theory.hpp"

namespace onebit::experiments {

/// A picture, which is either a plot or a heat map.
struct Figure {
  std::string name;  ///< name of its files; it begins with the kind of figure
  std::string caption;
  analysis::Plot plot = {};
  analysis::HeatMap map = {};
};

/// Returns loss against steps, samples (if arms take different numbers of them per step), bytes and the time on each
/// cluster, with a curve and its band for each of the named arms. Arms without a finished run, with a run that
/// diverged, or that ended above their starting loss do not affect the range of the y axis, unless there are no others.
std::vector<Figure> loss_figures(const analysis::Comparison& comparison, std::span<const std::string> arms);

/// Returns the stability ratios of the variance, for one run of each arm that has a variance. The spans have equal
/// length.
Figure stability_figure(const analysis::Comparison& comparison, std::span<const std::string> arms,
                        std::span<const analysis::VarianceView> views);

/// Returns the stability of every tensor's variance over the steps of a run; without values if the log has no rows
/// of tensors.
Figure tensor_figure(const std::string& arm, const analysis::VarianceView& view);

/// Returns the length of the longest 1-bit step in each tensor against the steps of a run, for the tensors in which
/// this length is greatest at the freeze. freeze_step: the step after which the run froze, to be marked in the figure;
/// 0: the run did not freeze.
Figure steps_figure(const std::string& arm, const analysis::StepSizes& sizes, Index freeze_step);

/// Returns both sides of 1-bit Adam's bound over the steps of a run, and the terms of the right side.
Figure bound_figure(const std::string& arm, const analysis::TheoryView& view);

/// Returns a map of mean final losses over two options, if exactly two options distinguish the arms; otherwise nothing.
std::vector<Figure> sweep_figures(std::span<const analysis::Arm> arms, const analysis::Comparison& comparison);

/// Returns AUC against bytes at the boundary, if arms have both; otherwise nothing.
std::vector<Figure> boundary_figures(std::span<const analysis::Arm> arms, const analysis::Comparison& comparison);

}  // namespace onebit::experiments
