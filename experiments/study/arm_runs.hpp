#pragma once
// Trains the arms of a comparison, seed by seed, with one log each: FOLDER/ARM-SEED.h5.

#include <string>
#include <vector>

#include "analysis/compare/arms.hpp"
#include "experiments/study/arms.hpp"
#include "experiments/study/prices.hpp"
#include "sim/data/data_cache.hpp"

namespace onebit::experiments {

/// Checks every configuration and every output path before anything is trained. Warns about options without effect.
/// Returns the number of examples per evaluation for the arms that do not set it: the number in the logs being resumed,
/// or else the smallest of the arms' defaults, so that all arms are compared on the same examples. Throws ConfigError.
/// data: cache that receives the data the arms read, so that run_arms can use them.
Index check_arms(const Study& study, const std::vector<Arm>& arms, const Prices& prices, sim::DataCache& data);

/// Returns the name of a run for the watcher: "adam seed 1, run 2 of 6". before: number of the command's runs before
/// this one.
std::string watched_name(const std::string& arm, std::uint32_t seed, Index before, Index all);

struct ArmResults {
  std::vector<analysis::Arm> arms;
  bool complete = true;  ///< false: a signal asked to stop, and the last run is incomplete
};

/// Trains all arms. examples: the return value of check_arms. Throws whatever training throws.
ArmResults run_arms(const Study& study, const std::vector<Arm>& arms, Index examples, sim::DataCache& data);

}  // namespace onebit::experiments
