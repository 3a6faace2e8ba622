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
  std::vector<analysis::ComputingGroup> computing;  ///< runs that share a time; see analysis::Comparison
};

/// Estimates the times of all runs. Runs that compute the same gradients share one computing time.
RunTimes times_of(const std::vector<ArmRuns>& arms, const Prices& prices);

/// Checks every configuration and every output path before anything is trained. Warns of options without effect.
/// Returns the number of examples per evaluation for the arms that do not set it: the number in the logs being resumed,
/// or else the smallest of the arms' defaults, so that all arms are compared on the same examples. Throws ConfigError.
Index check_arms(const Study& study, const std::vector<Arm>& arms, const Prices& prices);

struct ArmResults {
  std::vector<ArmRuns> arms;
  bool complete = true;  ///< false: a signal asked to stop, and the last run is incomplete
};

/// Trains all arms. examples: the return value of check_arms. Throws whatever training throws.
ArmResults run_arms(const Study& study, const std::vector<Arm>& arms, const Prices& prices, Index examples);

}  // namespace onebit::experiments
