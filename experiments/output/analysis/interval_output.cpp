#include "experiments/output/analysis/interval_output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace onebit::experiments {

namespace {

/// Returns a number with `places` digits after the decimal point.
std::string fixed(double value, int places) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", places, value);
  return text;
}

/// Returns a number with `digits` significant digits, and with a power of ten if it has more before the decimal point.
std::string general(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

/// Whether a mean and its half width can be written without powers of ten.
bool is_plain(double mean, double half) {
  constexpr double most = 1e6;
  const double least = std::abs(mean) < 0.1 ? 1e-4 : 1e-6;  // of the half width
  return std::abs(mean) < most && half < most && half >= least;
}

/// Returns a mean and its half width, both to the place of the second significant digit of the half width:
/// "0.631 ± 0.033", "14300 ± 3600".
std::string with_half(double mean, double half, const std::string& unit = "") {
  if (!is_plain(mean, half)) {
    const auto place = [](double value) { return static_cast<int>(std::floor(std::log10(std::abs(value)))); };
    const int digits = mean == 0 || half == 0 ? 5 : std::clamp(place(mean) - place(half) + 2, 1, 9);
    return general(mean, digits) + unit + " ± " + general(half, 2) + unit;
  }
  const int place = static_cast<int>(std::floor(std::log10(half))) - 1;
  const double step = std::pow(10.0, place);
  const auto rounded = [&](double value) {
    return (place > 0 ? fixed(std::round(value / step) * step + 0.0, 0) : fixed(value, -place)) + unit;
  };
  return rounded(mean) + " ± " + rounded(half);
}

}  // namespace

std::string interval_text(const analysis::Interval& interval, int digits) {
  if (std::isfinite(interval.half_width)) return with_half(interval.mean, interval.half_width);
  constexpr double most = 1e6;  // larger ones are written with a power of ten
  const double size = std::abs(interval.mean);
  const int whole_digits = size >= 1 && size < most ? 1 + static_cast<int>(std::log10(size)) : 1;
  return number(interval.mean, std::max(digits, whole_digits));
}

std::string with_interval(const std::string& mean, const analysis::Interval& interval) {
  const std::size_t unit = mean.find(' ');
  if (!std::isfinite(interval.half_width) || interval.mean == 0 || unit == std::string::npos) return mean;
  const double shown = std::strtod(mean.c_str(), nullptr), scale = shown / interval.mean;
  const double half = interval.half_width * scale;
  constexpr double known = 1e-3;  // the text has at least three digits
  if (half < known * std::abs(shown)) return mean.substr(0, unit) + " ± " + number(half, 2) + mean.substr(unit);
  return with_half(shown, half) + mean.substr(unit);
}

std::string percent_interval(const analysis::Interval& interval) {
  if (!std::isfinite(interval.mean)) return "-";
  return std::isfinite(interval.half_width) ? with_half(100 * interval.mean, 100 * interval.half_width, "%")
                                            : number(100 * interval.mean, 3) + "%";
}

Json interval_json(const analysis::Interval& interval) {
  return Json::object({{"mean", interval.mean}, {"half_width", interval.half_width}, {"count", interval.count}});
}

}  // namespace onebit::experiments
