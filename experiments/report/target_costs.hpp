#pragma once
// What it costs an arm to reach a loss, compared with its baseline.

#include <string>

#include "experiments/report/report.hpp"

namespace onebit::experiments {

/// Returns a sentence on the costs of reaching the target or, if none was given, the lowest loss that all runs of both
/// arms reached; each arm has the learning rate at which it gets there soonest. Without a given target it is empty if
/// the costs are much like those of the whole run, if evaluations are too far apart (is_rough), or if no run finished.
/// It is part of the answer if a target was given, or if the arm saves clearly less on the way to this loss than over
/// the whole run. Precondition: the report still has all learning rates.
TargetCosts target_costs(const Report& report, const analysis::Verdict& verdict);

}  // namespace onebit::experiments
