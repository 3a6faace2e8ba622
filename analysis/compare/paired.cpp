#include "analysis/compare/paired.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "device/math/philox.hpp"

namespace onebit::analysis {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kEnumerated = 16;    // largest number of differences whose signs are enumerated
constexpr Index kDrawn = Index{1} << 16;   // number of sign assignments drawn for more differences
constexpr Index kSignsADraw = 4 * 32;      // signs per draw: bits of Philox's four words
constexpr double kRoundingOfSums = 1e-12;  // relative; sums of the same numbers in different orders count as equal

std::vector<double> differences_of(std::span<const double> a, std::span<const double> b, bool is_ratio) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool equal = a[i] == b[i] && std::isfinite(a[i]);
    differences.push_back(equal ? 0 : is_ratio ? std::log(b[i]) - std::log(a[i]) : (b[i] - a[i]) / std::abs(a[i]));
  }
  return differences;
}

/// Returns the sum of the differences under one drawn assignment of signs.
double drawn_sum(std::span<const double> differences, Index draw) {
  double sum = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const Index place = static_cast<Index>(i);
    const auto words = device::philox({0, device::Purpose::permutation}, {draw, 0, place / kSignsADraw});
    const auto bit = static_cast<unsigned>(place % kSignsADraw);
    const bool flipped = (words[bit / 32] >> (bit % 32) & 1U) != 0;
    sum += flipped ? -differences[i] : differences[i];
  }
  return sum;
}

/// Returns the sum of the differences, in which those whose bit in `flips` is 1 have the opposite sign.
double flipped_sum(std::span<const double> differences, std::size_t flips) {
  double sum = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    sum += (flips >> i & 1U) != 0 ? -differences[i] : differences[i];
  }
  return sum;
}

/// Returns the standard deviation of a sample; NaN for fewer than two values.
double deviation_of(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  if (values.size() < 2) return nan;
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (count - 1));
}

double t_quantile(double degrees, double p) {
  return boost::math::quantile(boost::math::students_t(degrees), p);
}

}  // namespace

Interval mean_interval(std::span<const double> values, double level) {
  const auto count = static_cast<double>(values.size());
  Interval interval{nan, nan, static_cast<Index>(values.size())};
  if (values.empty()) return interval;
  interval.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (values.size() < 2 || !std::isfinite(interval.mean)) return interval;
  interval.half_width = t_quantile(count - 1, 1 - (1 - level) / 2) * deviation_of(values) / std::sqrt(count);
  return interval;
}

double sign_flip_p(std::span<const double> differences) {
  if (differences.empty()) return nan;
  double sizes = 0;
  for (double difference : differences) sizes += std::abs(difference);
  if (!std::isfinite(sizes)) return nan;
  const double observed = std::abs(std::accumulate(differences.begin(), differences.end(), 0.0));
  const auto as_far = [&](double sum) { return std::abs(sum) >= observed - kRoundingOfSums * sizes; };
  Index count = 0;
  if (differences.size() <= kEnumerated) {
    // An assignment and its opposite are equally far from 0, so the half that keeps the last sign is enough.
    const std::size_t half = std::size_t{1} << (differences.size() - 1);
    for (std::size_t flips = 0; flips < half; ++flips) count += as_far(flipped_sum(differences, flips));
    return static_cast<double>(count) / static_cast<double>(half);
  }
  for (Index draw = 0; draw < kDrawn; ++draw) count += as_far(drawn_sum(differences, draw));
  return static_cast<double>(count + 1) / static_cast<double>(kDrawn + 1);
}

double least_p(Index pairs) {
  const bool enumerated = pairs <= static_cast<Index>(kEnumerated);
  return enumerated ? std::ldexp(2.0, -static_cast<int>(pairs)) : 1 / static_cast<double>(kDrawn + 1);
}

Difference paired_difference(std::span<const double> a, std::span<const double> b, double level) {
  const auto is_positive = [](double value) { return value > 0; };
  const bool is_ratio = std::ranges::all_of(a, is_positive) && std::ranges::all_of(b, is_positive);
  const std::vector<double> differences = differences_of(a, b, is_ratio);
  const Interval interval = mean_interval(differences, level);
  const auto agreeing = std::ranges::count_if(
      differences, [&](double difference) { return interval.mean < 0 ? difference < 0 : difference > 0; });
  const auto relative = [&](double value) { return is_ratio ? std::expm1(value) : value; };
  return {relative(interval.mean),
          relative(interval.mean - interval.half_width),
          relative(interval.mean + interval.half_width),
          sign_flip_p(differences),
          static_cast<Index>(differences.size()),
          deviation_of(differences),
          is_ratio,
          agreeing};
}

Index seeds_needed(double deviation, double difference, double level, double power) {
  if (std::isnan(deviation)) return 0;
  const double tail = 1 - (1 - level) / 2, ratio = deviation / difference;
  const boost::math::normal normal;
  const double least = std::pow((quantile(normal, tail) + quantile(normal, power)) * ratio, 2);  // t is larger
  if (!(least < static_cast<double>(most_seeds))) return most_seeds;
  Index n = std::max<Index>(2, static_cast<Index>(least));
  for (; n < most_seeds; ++n) {
    const auto degrees = static_cast<double>(n - 1);
    const double reach = (t_quantile(degrees, tail) + t_quantile(degrees, power)) * ratio;
    if (reach * reach <= static_cast<double>(n)) break;
  }
  return n;
}

}  // namespace onebit::analysis
