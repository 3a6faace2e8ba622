#pragma once
// What a report draws.

#include <span>
#include <string>
#include <vector>

#include "analysis/compare/comparison.hpp"
#include "analysis/pictures/plot.hpp"
#include "analysis/freeze/step_sizes.hpp"
#include "analysis/theory/theory.hpp"
#include "analysis/freeze/variance.hpp"

namespace onebit::experiments {

/// A picture: one of the two is drawn.
struct Figure {
  std::string name;  ///< of its files, and of what is in it
  std::string caption;
  analysis::Plot plot = {};
  analysis::HeatMap map = {};
};

/// Loss against steps, samples (where arms take other numbers of them a step), bytes and the time on each cluster, a
/// curve with its band for each arm.
std::vector<Figure> loss_figures(const analysis::Comparison& comparison);

/// Stability ratios of the variance, of one run of each arm that has one. The spans have one length.
Figure stability_figure(std::span<const std::string> arms, std::span<const analysis::VarianceView> views);

/// Stability of every tensor's variance over the steps of a run; without values where the log has no rows of tensors.
Figure tensor_figure(const std::string& arm, const analysis::VarianceView& view);

/// Longest steps of one bit over the steps of a run, of the tensors that have the longest at its freeze.
Figure steps_figure(const std::string& arm, const analysis::StepSizes& sizes);

/// Both sides of 1-bit Adam's bound over the steps of a run, and the terms of the right one.
Figure bound_figure(const std::string& arm, const analysis::TheoryView& view);

/// Mean final losses over two options, where those alone tell the arms apart and each has several values.
std::vector<Figure> sweep_figures(std::span<const analysis::Arm> arms, const analysis::Comparison& comparison);

}  // namespace onebit::experiments
