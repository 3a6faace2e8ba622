#pragma once
// The cost of the number of workers at a constant number of examples per step.

#include "experiments/bench/bench.hpp"

namespace onebit::experiments {

struct ScalingRow {
  Index workers = 0;
  double gradient = 0;        ///< seconds: sample, forward, backward
  double step = 0;            ///< seconds of a whole step
  double gradient_bytes = 0;  ///< workers x parameters x 4
};

struct ScalingReport {
  Index global_batch = 0;
  Index rounds = 0;
  std::vector<ScalingRow> rows;  ///< in the order of the sweep
};

/// Measures medians over rounds in which each number of workers takes a step. Throws ConfigError where one of them does
/// not divide the examples of a step.
ScalingReport bench_scaling(const sim::RunConfig& config, const std::vector<Index>& sweep, Index global_batch,
                            Index rounds);

/// Returns 1, 2, 4, ..., 64, as far as they divide the examples of a step.
std::vector<Index> default_sweep(Index global_batch);

}  // namespace onebit::experiments
