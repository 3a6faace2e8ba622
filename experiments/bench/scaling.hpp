#pragma once
// Measures how the time of a step depends on the number of workers, with a constant number of examples per step.

#include "experiments/bench/bench.hpp"

namespace onebit::experiments {

struct ScalingRow {
  Index workers = 0;
  double gradient = 0;        ///< seconds of sampling, forward and backward passes
  double step = 0;            ///< seconds of a whole step
  double gradient_bytes = 0;  ///< workers x parameters x 4
};

struct ScalingReport {
  Index global_batch = 0;
  Index rounds = 0;
  std::vector<ScalingRow> rows;  ///< rows in the order of the sweep
};

/// Measures medians over rounds; in each round, a run with each number of workers takes a step. Throws ConfigError if
/// `sweep` has a number of workers that does not divide `global_batch`, the number of examples of a step.
ScalingReport bench_scaling(const sim::RunConfig& config, const std::vector<Index>& sweep, Index global_batch,
                            Index rounds);

/// Returns 1, 2, 4, ... up to 64, and stops before the first number that does not divide the number of examples of a
/// step.
std::vector<Index> default_sweep(Index global_batch);

}  // namespace onebit::experiments
