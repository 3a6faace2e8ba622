#pragma once
// Communication and time of arms on clusters: the same tables and objects for every command that has arms.

#include <string>
#include <vector>

#include "analysis/compare/arm_figures.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

struct NamedCommunication {
  std::string arm;
  std::vector<analysis::CommunicationTime> clusters;  ///< of its first run
};

struct NamedSeconds {
  std::string arm;
  std::vector<analysis::ClusterSeconds> seconds;  ///< of the run, over the arm's runs that finished
};

/// Seconds per step in each stage. Arms with the same times share their rows. There is an arm, and all have the same
/// clusters.
Table communication_table(const std::vector<NamedCommunication>& arms);
/// Computing, communication, codec and update of the whole run.
Table times_table(const std::vector<NamedSeconds>& arms);
/// What stands for computing in these times, a line a group.
std::vector<std::string> computing_lines(const std::vector<analysis::ComputingGroup>& groups);

/// By cluster.
Json communication_json(const std::vector<analysis::CommunicationTime>& times);
Json seconds_json(const std::vector<analysis::ClusterSeconds>& times);
Json computing_json(const std::vector<analysis::ComputingGroup>& groups);

}  // namespace onebit::experiments
