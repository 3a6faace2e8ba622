#pragma once
// Trains the arms of a comparison, seed by seed, a log each: OUT/ARM-SEED.h5.

#include <memory>
#include <vector>

#include "experiments/study/arms.hpp"
#include "experiments/study/comparison.hpp"
#include "experiments/study/price.hpp"

namespace onebit::experiments {

/// What the runs are priced on, and how.
struct Prices {
  std::vector<netmodel::Cluster> clusters;
  std::unique_ptr<netmodel::CostModel> model;
  analysis::PriceRules rules;
};

/// Reads all files that the configuration names. Throws ConfigError.
Prices prices_of(const PriceConfig& config);

/// Of all runs, with one computing time for those that compute the same gradients.
RunTimes times_of(const std::vector<ArmRuns>& arms, const Prices& prices);

/// Nothing is trained before every configuration has been checked and every output is free. Warns of options without
/// effect. Returns the examples of an evaluation that all arms can afford which leave them open, so that they are
/// compared on the same ones. Throws ConfigError.
Index check_arms(const CommandLine& line, const std::vector<Arm>& arms, const Prices& prices);

struct ArmResults {
  std::vector<ArmRuns> arms;
  bool complete = true;  ///< false: a signal asked to stop; the last run is in part
};

/// Trains them all. examples: what check_arms returned. Throws what runs throw.
ArmResults run_arms(const CommandLine& line, const std::vector<Arm>& arms, const Prices& prices, Index examples);

}  // namespace onebit::experiments
