#pragma once
// Trains the arms of a comparison, seed by seed, a log each: OUT/ARM-SEED.h5.

#include <memory>
#include <vector>

#include "experiments/arms.hpp"
#include "experiments/comparison.hpp"
#include "netmodel/cost_model.hpp"

namespace onebit::experiments {

/// What the runs are priced on, and how.
struct Prices {
  std::vector<netmodel::Cluster> clusters;
  std::unique_ptr<netmodel::CostModel> model;
};

/// Reads all files that the configuration names. Throws ConfigError.
Prices prices_of(const PriceConfig& config);

/// Nothing is trained before every configuration has been checked and every output is free. Throws ConfigError.
void check_arms(const CommandLine& line, const std::vector<Arm>& arms, const Prices& prices);

struct ArmResults {
  std::vector<ArmRuns> arms;
  bool complete = true;  ///< false: a signal asked to stop; the last run is in part
};

/// Trains them all. Call check_arms before. Throws what runs throw.
ArmResults run_arms(const CommandLine& line, const std::vector<Arm>& arms, const Prices& prices);

}  // namespace onebit::experiments
