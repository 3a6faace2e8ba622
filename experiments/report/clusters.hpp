#pragma once
// What a reader of estimated times must know: what the clusters are, and what a step spends its time on.

#include <string>
#include <vector>

#include "experiments/output/output.hpp"
#include "experiments/report/report.hpp"

namespace onebit::experiments {

/// Returns "eth10: 10 Gb/s Ethernet, TCP"; for a preset whose network links were changed, "eth10: 4 Gb/s links".
std::string described(const netmodel::Cluster& cluster);

/// Returns a line for each cluster: "eth10: 10 Gb/s Ethernet, TCP; here 4 nodes x 1 GPU (a100), ...".
std::vector<std::string> cluster_lines(const Report& report);

/// Returns a breakdown of the mean step of each shown arm on the first cluster: "Time of a step on eth10: adam: 1.08 ms
/// (latency 88%, sending 9%, computing 3%); ...". An arm without a step is left out. Empty without clusters or steps.
std::string parts_line(const Report& report);

/// Says how long an arm's run takes on the clusters where it takes the most and the least time, and what share of that
/// time is communication: "The run takes an estimated 1.02 s on eth1 (communication 47%) and 595 ms on ib100
/// (communication 9%)". Empty without clusters or steps.
std::string run_times_text(const analysis::ArmFigures& arm);

/// Whether latency is the part of the arm's mean step that exceeds the same part of the baseline's step by the most
/// time, and the arm also sends more messages than the baseline.
bool grows_by_messages(const analysis::ArmFigures& arm, const analysis::ArmFigures& baseline, std::size_t cluster);

/// Returns the part of an arm's mean step that takes the most additional time compared with the same part of its
/// baseline's step, and this time: "coding: 120 us more in a step". cluster: index of the cluster. Empty where no part
/// grew.
std::string grown_part(const analysis::ArmFigures& arm, const analysis::ArmFigures& baseline, std::size_t cluster);

/// Returns the parts of the mean step of each shown arm on every cluster.
Table parts_table(const Report& report);

}  // namespace onebit::experiments
