#pragma once

#include <limits>

namespace onebit::sim {

/// Constants of a problem that appear in the theory; NaN if unknown.
struct Constants {
  double smoothness = kUnknown;  ///< L: largest eigenvalue of the Hessian of the mean loss, or a bound above it
  double convexity =
      kUnknown;             ///< mu: its smallest eigenvalue, or a bound below it; negative if the loss is not convex
  double noise = kUnknown;  ///< sigma: rms norm of an example's gradient minus its worker's
  double heterogeneity = kUnknown;  ///< zeta: rms norm of a worker's gradient minus the mean of all, at the optimum
  double optimum_loss = kUnknown;   ///< f*: the loss at the optimum

  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  friend bool operator==(const Constants&, const Constants&) = default;
};

}  // namespace onebit::sim
