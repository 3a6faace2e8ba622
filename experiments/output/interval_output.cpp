#include "experiments/output/interval_output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace onebit::experiments {

namespace {

/// Returns a half width with two significant digits, or more if it needs more before the decimal point.
std::string half_text(double half) {
  const int whole = half >= 100 ? 1 + static_cast<int>(std::log10(half)) : 2;
  return number(half, whole > 6 ? 2 : whole);
}

}  // namespace

std::string interval_text(const analysis::Interval& interval, int digits) {
  constexpr double most = 1e6;  // larger ones are written with a power of ten
  const double size = std::abs(interval.mean);
  const int whole_digits = size >= 1 && size < most ? 1 + static_cast<int>(std::log10(size)) : 1;
  const std::string mean = number(interval.mean, std::max(digits, whole_digits));
  if (!std::isfinite(interval.half_width)) return mean;
  return mean + " ± " + half_text(interval.half_width);
}

std::string with_interval(const std::string& mean, const analysis::Interval& interval) {
  const std::size_t unit = mean.find(' ');
  if (!std::isfinite(interval.half_width) || interval.mean == 0 || unit == std::string::npos) return mean;
  const double shown = std::strtod(mean.c_str(), nullptr);
  return mean.substr(0, unit) + " ± " + half_text(interval.half_width * shown / interval.mean) + mean.substr(unit);
}

std::string percent_interval(const analysis::Interval& interval) {
  if (!std::isfinite(interval.mean)) return "-";
  const std::string mean = number(100 * interval.mean, 3) + "%";
  return std::isfinite(interval.half_width) ? mean + " ± " + half_text(100 * interval.half_width) + "%" : mean;
}

Json interval_json(const analysis::Interval& interval) {
  return Json::object({{"mean", interval.mean}, {"half_width", interval.half_width}, {"count", interval.count}});
}

}  // namespace onebit::experiments
