#pragma once
// When a run first reached a loss.

#include <span>

#include "analysis/compare/arms.hpp"

namespace onebit::analysis {

/// Where a loss that was evaluated at rising x first came down to the target: on the straight line between the last
/// evaluation above it and the first one at most the target. The first x where the loss begins there; the x of the
/// evaluation itself where the one before is not finite. NaN: not reached. The spans have one length.
double reached_at(std::span<const double> x, std::span<const double> loss, double target);

/// The lowest loss that every run of these arms reached, of those that finished: the best evaluated loss of the worst
/// of them. NaN where none finished.
double common_target(std::span<const Arm* const> arms);

}  // namespace onebit::analysis
