#pragma once
// Communication and total time of arms on clusters: the same tables and objects for every command that has arms.

#include <string>
#include <vector>

#include "analysis/compare/arm_figures.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Returns each arm's seconds per step in each stage, from the run that example_times selects. Arms with the same times
/// share their rows. There is at least one arm, and all have the same clusters.
Table communication_table(const std::vector<analysis::ArmFigures>& arms);
/// Returns the time of the whole run: compute, communication, codec and update.
Table times_table(const std::vector<analysis::ArmFigures>& arms);
/// Returns the compute times that times_table includes, one line per group.
std::vector<std::string> computing_lines(const std::vector<analysis::ComputingGroup>& groups);

/// Returns an object with one member per cluster.
Json communication_json(const std::vector<analysis::CommunicationTime>& times);
Json seconds_json(const std::vector<analysis::ClusterSeconds>& times);
Json computing_json(const std::vector<analysis::ComputingGroup>& groups);

}  // namespace onebit::experiments
