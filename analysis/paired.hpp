#pragma once
// Means and paired differences over few seeds, with intervals that cover.

#include <span>

#include "device/types.hpp"

namespace onebit::analysis {

/// A mean with its 95% interval mean +- half_width by Student's t. half_width is NaN for fewer than two values.
struct Interval {
  double mean = 0;
  double half_width = 0;
  Index count = 0;
};

/// Interval of a mean. NaN values make it NaN.
Interval mean_interval(std::span<const double> values);

/// Interval of the mean relative difference (b - a) / a of paired values; the spans have one length.
Interval paired_relative_difference(std::span<const double> a, std::span<const double> b);

}  // namespace onebit::analysis
