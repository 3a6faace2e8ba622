#pragma once
// What an arm saves compared with its baseline, in sentences: bytes, and estimated time on the clusters.

#include <string>
#include <vector>

#include "experiments/report/report.hpp"

namespace onebit::experiments {

/// Returns a sentence on the bytes of a verdict's arm, and on its time on the clusters where it gains most and least;
/// empty where they hardly differ from its baseline's. If a target was given, adds what reaching it costs, or which
/// runs reached it.
std::string costs_text(const Report& report, const analysis::Verdict& verdict);

/// Returns sentences that explain these costs, where there is anything to explain: which share of the bytes the dense
/// steps send; how far off the times may be; how long a step computes; why an arm that sends less is slower on some
/// networks, and whether that is because its tensors are exchanged one by one. Unless a target was given, a last
/// sentence says what it costs to reach the lowest loss that all runs of both arms reached, if that cost is clearly
/// different from the cost of the whole run.
std::vector<std::string> cost_notes(const Report& report, const analysis::Verdict& verdict);

}  // namespace onebit::experiments
