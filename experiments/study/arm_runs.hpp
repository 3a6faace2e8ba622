#pragma once
// Trains the arms of a comparison, seed by seed, with one log each: OUT/ARM-SEED.h5.

#include <memory>
#include <vector>

#include "experiments/study/arms.hpp"
#include "experiments/study/comparison.hpp"
#include "experiments/study/price.hpp"

namespace onebit::experiments {

/// Clusters on which the runs are priced, and the rules.
struct Prices {
  std::vector<netmodel::Cluster> clusters;
  std::unique_ptr<netmodel::CostModel> model;
  analysis::PriceRules rules;
};

/// Loads the clusters, the cost model and the workload of a configuration, reading the files that it names. Throws
/// ConfigError.
Prices prices_of(const PriceConfig& config);

/// Returns the times of all runs, with one computing time for those that compute the same gradients.
RunTimes times_of(const std::vector<ArmRuns>& arms, const Prices& prices);

/// Checks every configuration, and that every output is free, before anything is trained. Warns of options without
/// effect. Returns the number of examples per evaluation for the arms that leave it open: that of the logs being
/// resumed, else one that all of them can afford, so that they are compared on the same examples. Throws ConfigError.
Index check_arms(const CommandLine& line, const std::vector<Arm>& arms, const Prices& prices);

struct ArmResults {
  std::vector<ArmRuns> arms;
  bool complete = true;  ///< false: a signal asked to stop, and the last run is incomplete
};

/// Trains all arms. examples: the return value of check_arms. Throws what runs throw.
ArmResults run_arms(const CommandLine& line, const std::vector<Arm>& arms, const Prices& prices, Index examples);

}  // namespace onebit::experiments
