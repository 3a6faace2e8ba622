#pragma once
// Communication and total time of arms on clusters, as tables and objects for every command that has arms.

#include <string>
#include <vector>

#include "analysis/compare/arm_figures.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

struct NamedCommunication {
  std::string arm;
  std::vector<analysis::CommunicationTime> clusters;  ///< communication times of the arm's first run
};

struct NamedSeconds {
  std::string arm;
  std::vector<analysis::ClusterSeconds> seconds;  ///< mean time of a run over the arm's finished runs
};

/// Returns the seconds per step in each stage. Arms with the same times share rows. There must be at least one arm, and
/// all arms must have the same clusters.
Table communication_table(const std::vector<NamedCommunication>& arms);
/// Returns the time of the whole run: computing, communication, codec and update.
Table times_table(const std::vector<NamedSeconds>& arms);
/// Returns the computing times that times_table includes, one line per group.
std::vector<std::string> computing_lines(const std::vector<analysis::ComputingGroup>& groups);

/// Returns an object with one member per cluster.
Json communication_json(const std::vector<analysis::CommunicationTime>& times);
Json seconds_json(const std::vector<analysis::ClusterSeconds>& times);
Json computing_json(const std::vector<analysis::ComputingGroup>& groups);

}  // namespace onebit::experiments
