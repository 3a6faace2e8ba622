#pragma once
// The answers of a report: a sentence for every verdict, with its evidence.

#include "experiments/report/report.hpp"

namespace onebit::experiments {

/// Returns how many of an arm's seeds diverged: "2 of 3 seeds".
std::string diverged_seeds(const analysis::ArmFigures& arm);

/// Returns, for every verdict, the answer, the costs, and the evidence on both arms; the reader can open the evidence.
/// Without verdicts, returns how far the arms at the best rates got.
std::string answers_html(const Report& report);

/// Returns a warning as the page words it: "Warning: TEXT.".
std::string warning_line(const std::string& text);

/// Returns the warnings of a verdict, except the warnings about unfinished runs: the page lists these with their arm.
std::vector<std::string> warnings_on(const analysis::Verdict& verdict, const analysis::Comparison& comparison);

}  // namespace onebit::experiments
