#pragma once
// Intervals for people and for programs.

#include "analysis/compare/paired.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Returns "1.234 ± 0.056"; the mean alone where there is no interval.
std::string interval_text(const analysis::Interval& interval, int digits = 5);
std::string percent_interval(const analysis::Interval& interval);
Json interval_json(const analysis::Interval& interval);

}  // namespace onebit::experiments
