#include "experiments/output/interval_output.hpp"

#include <cmath>

namespace onebit::experiments {

std::string interval_text(const analysis::Interval& interval, int digits) {
  const std::string mean = number(interval.mean, digits);
  return std::isfinite(interval.half_width) ? mean + " ± " + number(interval.half_width, 2) : mean;
}

std::string percent_interval(const analysis::Interval& interval) {
  const std::string mean = percent_text(interval.mean);
  return std::isfinite(interval.half_width) ? mean + " ± " + percent_text(interval.half_width) : mean;
}

Json interval_json(const analysis::Interval& interval) {
  return Json::object({{"mean", interval.mean}, {"half_width", interval.half_width}, {"count", interval.count}});
}

}  // namespace onebit::experiments
