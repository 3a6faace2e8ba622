#pragma once
// Means and paired differences over few seeds, with intervals that cover: Student's t, which holds from two values on.
// A percentile bootstrap over so few values is too narrow (0.84 instead of 0.95 at five), so there is none.

#include <span>

#include "device/base/types.hpp"

namespace onebit::analysis {

/// A mean with its interval mean +- half_width by Student's t, of 95% where nothing else is said. half_width is NaN for
/// fewer than two values.
struct Interval {
  double mean = 0;
  double half_width = 0;
  Index count = 0;
};

/// Interval of a mean that covers with a probability of `level`, in (0, 1). NaN values make it NaN.
Interval mean_interval(std::span<const double> values, double level = 0.95);

/// Interval of the mean relative difference (b - a) / |a| of paired values, 0 where they are equal; the spans have one
/// length.
Interval paired_relative_difference(std::span<const double> a, std::span<const double> b);

/// Two-sided p of the paired sign-flip permutation test: the share of all assignments of signs to the differences whose
/// mean is at least as far from 0 as theirs. Exact, by enumeration, for up to 16 differences; of 65,536 assignments
/// drawn by Philox with a fixed key beyond that (the observed one counted in). It assumes no distribution, but is at
/// least 2 / 2^n for n differences that are not all 0: with five pairs 1/16, so that it cannot fall below 0.05 there.
/// 1 where all differences are 0; NaN for none, or where one is not finite.
double sign_flip_p(std::span<const double> differences);

/// What paired values say of a difference. t decides whether it is one; p is further evidence.
struct Difference {
  Interval relative = {};  ///< (b - a) / |a|, mean over the pairs; negative: b is lower
  double p = 0;            ///< sign_flip_p of the relative differences
  Index pairs = 0;
  double deviation = 0;  ///< standard deviation of the relative differences; NaN for fewer than two
};

/// The spans have one length, a pair at each place. A value that is not finite, or an a of 0 with another b, makes
/// interval, p and deviation NaN. The interval is one of `level`.
Difference paired_difference(std::span<const double> a, std::span<const double> b, double level = 0.95);

/// Pairs beyond which nobody counts: seeds_needed is at most this.
inline constexpr Index most_seeds = 1'000'000;

/// Pairs that are needed to see a difference, where single pairs scatter by a standard deviation: the least n >= 2 with
/// (t(1 - (1 - level)/2) + t(power)) deviation / sqrt(n) <= difference, t being quantiles of Student's t with n - 1
/// degrees of freedom. Then a true difference of that size makes an interval of `level` without 0 in a share `power` of
/// such experiments. Level and power in (0, 1), difference above 0. 0 where the deviation is NaN.
Index seeds_needed(double deviation, double difference, double level, double power);

}  // namespace onebit::analysis
