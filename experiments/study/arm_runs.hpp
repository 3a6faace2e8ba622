#pragma once
// Trains the arms of a comparison, seed by seed, with one log each: FOLDER/ARM-SEED.h5.

#include <string>
#include <vector>

#include "analysis/log/computing.hpp"
#include "experiments/study/arms.hpp"
#include "experiments/study/prices.hpp"

namespace onebit::experiments {

/// The runs of one arm, one per seed, in seed order.
struct ArmRuns {
  std::string name;
  std::vector<analysis::Summary> runs;
  std::vector<std::vector<analysis::StepRange>> exchanges;  ///< exchanges of each run
};

/// Estimated times of the runs of a comparison.
struct RunTimes {
  std::vector<std::string> clusters;
  /// Timelines, [arm][run][cluster].
  std::vector<std::vector<std::vector<analysis::Timeline>>> timelines;
  std::vector<analysis::ComputingGroup> computing;  ///< see analysis::Comparison
};

/// Returns the times of all runs, with one computing time for those that compute the same gradients.
RunTimes times_of(const std::vector<ArmRuns>& arms, const Prices& prices);

/// Checks every configuration, and that every output is free, before anything is trained. Warns of options without
/// effect. Returns the number of examples per evaluation for the arms that leave it open: that of the logs being
/// resumed, else one that all of them can afford, so that they are compared on the same examples. Throws ConfigError.
Index check_arms(const Study& study, const std::vector<Arm>& arms, const Prices& prices);

struct ArmResults {
  std::vector<ArmRuns> arms;
  bool complete = true;  ///< false: a signal asked to stop, and the last run is incomplete
};

/// Trains all arms. examples: the return value of check_arms. Throws what runs throw.
ArmResults run_arms(const Study& study, const std::vector<Arm>& arms, const Prices& prices, Index examples);

}  // namespace onebit::experiments
