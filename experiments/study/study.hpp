#pragma once
// A study: the runs that a command trains, one for each arm and seed, and where their logs are.

#include <string>
#include <vector>

#include "experiments/options/idle_options.hpp"
#include "experiments/study/training.hpp"

namespace onebit::experiments {

/// Arms as the user wrote them; see arms_of.
struct ArmTexts {
  std::vector<std::string> optimizers;
  std::vector<std::string> arms;  ///< 'name:key=value,key=value'
};

struct Study {
  RunSettings run;  ///< what all runs have in common
  ArmTexts arms;
  Index seeds = 1;     ///< paired seeds per arm: seed, seed + 1, ...
  std::string folder;  ///< folder for the logs
  Training training;
};

/// Warns about logs in the study's folder that the study does not write: commands that read the folder would take them
/// for the study's. own: the paths of the logs that it writes.
void warn_of_other_logs(const Study& study, const std::vector<std::string>& own);

/// Warns about options of the study that no run reads.
void warn_of_idle_options(const Study& study, const std::vector<GivenRun>& runs);

}  // namespace onebit::experiments
