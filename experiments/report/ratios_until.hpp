#pragma once
// What a baseline costs until a loss is reached, divided by what an arm costs until then, as numbers.

#include <limits>
#include <vector>

#include "experiments/report/costs.hpp"

namespace onebit::experiments {

/// Axes of RunCurve::x on which costs are compared. kSeconds + c: seconds on cluster c.
inline constexpr std::size_t kSteps = 0, kBytes = 2, kSeconds = 3;

/// Least and largest of a ratio of a baseline's costs to those of an arm; NaN if unknown.
struct Bounds {
  double low = std::numeric_limits<double>::quiet_NaN(), high = low;
};

/// Returns the place on an axis at which an arm's finished runs first reached a loss, as the mean over these runs.
double reached_in_the_mean(const analysis::ArmFigures& arm, std::size_t axis, double target);

/// Returns the ratio of the costs until a loss is reached, on one axis, for each seed that finished in both arms; none
/// if a seed has a cost of 0 or did not reach the loss.
std::vector<double> ratios_until(const Pair& pair, std::size_t axis, double target);

/// Returns the cost of the baseline until a loss is reached divided by that of the arm, on one axis: the geometric mean
/// of ratios_until or, without these, the ratio of the means over the seeds that finished in both arms. If there are no
/// such seeds, the means are those of each arm's own seeds.
double ratio_until(const Pair& pair, std::size_t axis, double target);

/// Returns the 95% interval of the geometric mean of ratios over the seeds; NaN for fewer than two.
Bounds interval_of(const std::vector<double>& ratios);

/// Returns the factors by which the ratio of times on a cluster may be off: those of the whole run, or 1 if the
/// exchanges take the same time in both arms.
Bounds range_of_estimate(const Pair& pair, std::size_t cluster);

/// Returns the bounds of the ratio over the means of the finished runs on an axis: until a loss, each arm costs at
/// least as much as at the evaluation before it is reached, and at most as much as at the one that reaches it.
Bounds bounds_until(const Pair& pair, std::size_t axis, double target);

}  // namespace onebit::experiments
