#pragma once
// Means and paired differences over few seeds, with Student's t intervals, which have the right coverage even for two
// values. The interval of a percentile bootstrap over so few values is too narrow (for five values its coverage is 0.84
// instead of 0.95) and is not offered.

#include <cmath>
#include <span>

#include "device/base/types.hpp"

namespace onebit::analysis {

/// A mean with its Student's t interval mean ± half_width, at 95% by default. half_width is NaN for fewer than two
/// values.
struct Interval {
  double mean = 0;
  double half_width = 0;
  Index count = 0;
};

/// Returns an interval that covers the true mean with probability `level`, in (0, 1). NaN values make it NaN.
Interval mean_interval(std::span<const double> values, double level = 0.95);

/// Returns the two-sided p of the paired sign-flip permutation test: the share of all sign assignments to the
/// differences whose mean is at least as far from 0 as the observed mean. It is exact, by enumeration, for up to 16
/// differences; for more differences it uses the observed assignment and 65,536 assignments drawn by Philox with a
/// fixed key. The test assumes no distribution, but p is never less than least_p(). For five pairs least_p() is 1/16,
/// so p cannot fall below 0.05. Returns 1 if all differences are 0, and NaN if there are no differences or any of them
/// is not finite.
double sign_flip_p(std::span<const double> differences);

/// Returns the smallest sign_flip_p that `pairs` differences can have, unless all of them are 0: 2 / 2^pairs for up to
/// 16, and 1/65,537 for more.
double least_p(Index pairs);

/// Relative difference of paired values b from values a. If all values are above 0, this is the geometric mean of the
/// ratios b / a, minus 1, because the logarithms of ratios are averaged: twice as high with one seed and half as high
/// with another is then no difference, and the interval never begins below -1. Otherwise it is the mean of
/// (b - a) / |a|. The t interval decides whether there is a difference; p is further evidence.
struct Difference {
  double mean = 0;           ///< negative: b is lower
  double low = 0, high = 0;  ///< ends of the interval; NaN for fewer than two pairs
  double p = 0;              ///< sign_flip_p of the logarithms of the ratios, or of the relative differences
  Index pairs = 0;
  double deviation = 0;  ///< standard deviation of the logarithms, or of the differences; NaN for fewer than two
  bool is_ratio = true;  ///< whether all values are above 0, so that b is 1 + mean times as high
  Index agreeing = 0;    ///< number of pairs whose difference has the sign of the mean

  /// Whether the interval contains 0; false without an interval.
  bool contains_zero() const { return low <= 0 && high >= 0; }

  /// Returns a relative difference on the scale of `deviation`: log(1 + share) for ratios.
  double on_scale(double share) const { return is_ratio ? std::log1p(share) : share; }
};

/// Returns the difference of paired values; the spans have equal length. If a value is not finite, or an element of `a`
/// is 0 and its partner in `b` is not, then low, high, p and deviation are NaN, and the mean has no meaning. The
/// interval has level `level`.
Difference paired_difference(std::span<const double> a, std::span<const double> b, double level = 0.95);

/// Upper bound on seeds_needed.
inline constexpr Index most_seeds = 1'000'000;

/// Returns the number of pairs needed to detect a difference when individual pairs scatter with a given standard
/// deviation: the smallest n >= 2 with (t(1 - (1 - level)/2) + t(power)) deviation / sqrt(n) <= difference, where t(q)
/// is the q-quantile of Student's t with n - 1 degrees of freedom. If the true difference has that size, a fraction
/// `power` of such experiments yields an interval of level `level` that excludes 0. Level and power are in (0, 1); the
/// difference is above 0. Returns 0 if the deviation is NaN.
Index seeds_needed(double deviation, double difference, double level, double power);

}  // namespace onebit::analysis
