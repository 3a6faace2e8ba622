#pragma once
// What a compact trace shows about the signs of its gradients.

#include <optional>

#include "sim/run/trace.hpp"

namespace onebit::experiments {

/// Means over the steps of a trace.
struct SignStatistics {
  double changes = 0;  ///< share of the mean gradient's elements whose sign differs from that in the step before
  /// Relative l2 error that a sign codec with one scale for each tensor makes on the mean gradient.
  double error = 0;
};

/// Returns the statistics; a number whose dataset the trace lacks is NaN. None for a trace that is not compact or has
/// neither dataset. Throws ConfigError for a dataset of another shape.
std::optional<SignStatistics> sign_statistics(const sim::GradientTrace& trace);

}  // namespace onebit::experiments
