#pragma once
// What it costs an arm to reach a loss, compared with its baseline.

#include <string>

#include "experiments/report/report.hpp"

namespace onebit::experiments {

/// Returns a sentence on the costs of reaching the target or, if none was given, the lowest loss that all runs of both
/// arms reached; each arm has the learning rate at which it gets there soonest. Without a given target it is empty if
/// the costs are much like those of the whole run, if no run finished, or if evaluations are too far apart (is_rough)
/// for bounds that show a loss. It is part of the answer if a target was given, if the arm saves clearly less on the
/// way to this loss than over the whole run, or if bounds show that it sends more bytes or takes longer.
/// Precondition: the report still has all learning rates.
TargetCosts target_costs(const Report& report, const analysis::Verdict& verdict);

}  // namespace onebit::experiments
