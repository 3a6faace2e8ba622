#pragma once
// Intervals for people and for programs.

#include "analysis/compare/paired.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Returns "1.234 ± 0.056": the half width has two significant digits, or as many as its integer part needs, and the
/// mean is rounded to the same decimal place. Without an interval, returns the mean alone with `digits` significant
/// digits, or more if it needs more before the decimal point.
std::string interval_text(const analysis::Interval& interval, int digits = 5);
/// Returns the text of a mean, which contains a unit, with the interval added: "24.1 ms" becomes "24.1 ± 7.6 ms".
std::string with_interval(const std::string& mean, const analysis::Interval& interval);
/// Returns "63.5% ± 3.8%"; the mean alone with three digits if there is no interval.
std::string percent_interval(const analysis::Interval& interval);
Json interval_json(const analysis::Interval& interval);

}  // namespace onebit::experiments
