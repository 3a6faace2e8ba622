#pragma once
// What it costs an arm to reach a loss, compared with its baseline.

#include <string>

#include "experiments/report/report.hpp"

namespace onebit::experiments {

/// Returns a sentence on the costs of reaching the target or, if none was given, the lowest loss that all runs of both
/// arms reached, with each arm at the learning rate that gets there soonest. Without a given target it is empty where
/// the costs are much like those of the whole run, where there are few evaluations, or if no run finished.
/// Precondition: the report still has all learning rates.
std::string target_costs_text(const Report& report, const analysis::Verdict& verdict);

}  // namespace onebit::experiments
