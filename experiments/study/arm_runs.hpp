#pragma once
// Trains the arms of a comparison, seed by seed, with one log each: FOLDER/ARM-SEED.h5.

#include <string>
#include <vector>

#include "analysis/compare/arms.hpp"
#include "experiments/study/arms.hpp"
#include "experiments/study/prices.hpp"

namespace onebit::experiments {

/// Checks every configuration, and that every output is free, before anything is trained. Warns of options without
/// effect. Returns the number of examples per evaluation for the arms that leave it open: that of the logs being
/// resumed, else one that all of them can afford, so that they are compared on the same examples. Throws ConfigError.
Index check_arms(const Study& study, const std::vector<Arm>& arms, const Prices& prices);

struct ArmResults {
  std::vector<analysis::Arm> arms;
  bool complete = true;  ///< false: a signal asked to stop, and the last run is incomplete
};

/// Trains all arms. examples: the return value of check_arms. Throws what runs throw.
ArmResults run_arms(const Study& study, const std::vector<Arm>& arms, Index examples);

}  // namespace onebit::experiments
