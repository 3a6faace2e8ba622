#include "analysis/paired.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace onebit::analysis {

Interval mean_interval(std::span<const double> values) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto count = static_cast<double>(values.size());
  Interval interval{nan, nan, static_cast<Index>(values.size())};
  if (values.empty()) return interval;
  interval.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (values.size() < 2 || !std::isfinite(interval.mean)) return interval;
  double squares = 0;
  for (double value : values) squares += (value - interval.mean) * (value - interval.mean);
  const double t = boost::math::quantile(boost::math::students_t(count - 1), 0.975);
  interval.half_width = t * std::sqrt(squares / (count - 1) / count);
  return interval;
}

Interval paired_relative_difference(std::span<const double> a, std::span<const double> b) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back((b[i] - a[i]) / a[i]);
  return mean_interval(differences);
}

}  // namespace onebit::analysis
