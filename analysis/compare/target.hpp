#pragma once
// The point at which a run first reached a loss.

#include <span>

#include "analysis/compare/arms.hpp"

namespace onebit::analysis {

/// Returns the x at which a loss, evaluated at ascending x, first came down to the target, interpolated linearly
/// between the last evaluation above the target and the first one at or below it. If the very first loss is at or below
/// the target, returns the first x. Finds the first evaluation whose loss is at or below the target. If the loss at the
/// evaluation before it is not finite, returns the x of the evaluation found, without interpolation. NaN: not reached.
/// The spans have equal length.
double reached_at(std::span<const double> x, std::span<const double> loss, double target);

/// Returns the x of the first evaluation at or below the target. NaN: not reached.
double evaluated_at(std::span<const double> x, std::span<const double> loss, double target);

/// Returns the x of the evaluation before the one that evaluated_at() finds, or of the first evaluation if there is
/// none before it. NaN: not reached.
double evaluated_before(std::span<const double> x, std::span<const double> loss, double target);

/// Whether the loss never rises from one evaluation to the next until it reaches the target. If it does rise, it may
/// also have reached the target between two earlier evaluations.
bool falls_until(std::span<const double> loss, double target);

/// Whether, before the loss reaches the target, one evaluation is within 5% of it and the next, more than one step
/// later, is higher.
bool turns_near(std::span<const double> steps, std::span<const double> loss, double target);

/// Whether the first evaluation at or below the target and the evaluation before it are too far apart to interpolate
/// between: they are more than one step apart, and more than a fifth of the steps up to the later of the two.
bool is_rough(std::span<const double> steps, std::span<const double> loss, double target);

/// Returns the lowest loss that every finished run of these arms reached: the highest of the runs' best evaluated
/// losses. NaN if none finished.
double common_target(std::span<const Arm* const> arms);

}  // namespace onebit::analysis
