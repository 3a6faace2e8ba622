#pragma once
// Communication and total time of arms on clusters: the same tables and objects for every command that has arms.

#include <string>
#include <vector>

#include "analysis/compare/arm_figures.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

struct NamedCommunication {
  std::string arm;
  std::vector<analysis::CommunicationTime> clusters;  ///< communication times of its first run
};

struct NamedSeconds {
  std::string arm;
  std::vector<analysis::ClusterSeconds> seconds;  ///< time of a run, over the arm's runs that finished
};

/// Returns the seconds per step in each stage. Arms with the same times share their rows. There is at least one arm,
/// and all have the same clusters.
Table communication_table(const std::vector<NamedCommunication>& arms);
/// Returns the time of the whole run: computing, communication, codec and update.
Table times_table(const std::vector<NamedSeconds>& arms);
/// Returns the computing times behind these tables, one line per group.
std::vector<std::string> computing_lines(const std::vector<analysis::ComputingGroup>& groups);

/// Returns an object with one member per cluster.
Json communication_json(const std::vector<analysis::CommunicationTime>& times);
Json seconds_json(const std::vector<analysis::ClusterSeconds>& times);
Json computing_json(const std::vector<analysis::ComputingGroup>& groups);

}  // namespace onebit::experiments
