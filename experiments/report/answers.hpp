#pragma once
// The answers of a report: a sentence for every verdict, with its evidence.

#include "experiments/report/report.hpp"

namespace onebit::experiments {

/// Returns the figures of the arm with this name, which is one of the comparison's.
const analysis::ArmFigures& figures_of(const analysis::Comparison& comparison, const std::string& name);

/// Whether an arm is at the best rate of its grid, or the grid has none. Verdicts name other arms only as a baseline
/// that was asked for.
bool is_at_best(const analysis::Comparison& comparison, const std::string& arm);

/// Returns the name of an arm's grid, which omits the rate, if the arm is at its best rate; otherwise the arm's own
/// name.
std::string name_at_best(const analysis::Comparison& comparison, const std::string& arm);

/// Returns how many of an arm's seeds diverged: "2 of 3 seeds".
std::string diverged_seeds(const analysis::ArmFigures& arm);

/// Returns the grid of an arm at its best rate, with all rates that were tried, even those that --best left out; its
/// `arms` contain only those that are left.
analysis::RateGrid whole_grid(const analysis::Comparison& comparison, const std::string& arm);

/// Returns the answer, the costs, and the evidence on both for every verdict; the reader can open the evidence. Without
/// verdicts, returns how far the arms at the best rates got.
std::string answers_html(const Report& report);

/// Returns the warnings of a verdict, without those on runs that did not finish, which are listed with their arm.
std::vector<std::string> warnings_on(const analysis::Verdict& verdict, const analysis::Comparison& comparison);

}  // namespace onebit::experiments
