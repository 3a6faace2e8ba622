#pragma once
// What an arm saves compared with its baseline, in sentences: bytes, and estimated time on the clusters.

#include <string>

#include "experiments/report/report.hpp"

namespace onebit::experiments {

/// Returns a sentence on the bytes of a verdict's arm, and on its time on the clusters where it gains most and least;
/// empty where they hardly differ from its baseline's.
std::string costs_text(const Report& report, const analysis::Verdict& verdict);

/// Says on what the times in costs_text depend: how long a step computes, and the uncertainty of the clusters. Also
/// says why an arm that sends less is slower somewhere. Empty if costs_text has no times.
std::string conditions_text(const Report& report, const analysis::Verdict& verdict);

/// Says which share of an arm's bytes its dense steps send, and how many times fewer a compressed step sends; empty
/// unless it has both and the factor is above that of the whole run.
std::string stages_text(const Report& report, const analysis::Verdict& verdict);

/// Returns a sentence on the costs of reaching the lowest loss that all runs of both arms reached; empty where they are
/// much like those of the whole run, or no run finished.
std::string target_costs_text(const Report& report, const analysis::Verdict& verdict);

/// Says why an arm sends more messages than its baseline, if they cost it time: its tensors are exchanged one by one.
/// Otherwise empty.
std::string messages_text(const Report& report, const analysis::Verdict& verdict);

}  // namespace onebit::experiments
