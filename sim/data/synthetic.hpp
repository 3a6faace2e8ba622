#pragma once
// Teacher-student classification: data with a known answer, of any size, from a few numbers.

#include <memory>

#include "sim/data/data.hpp"

namespace onebit::sim {

/// `config.examples` points x ~ N(0, 1)^features; label = argmax of W2 tanh(W1 x / sqrt(features)), W1 [32 x features]
/// and W2 [classes x 32] ~ N(0, 1). All drawn once from Philox key (0, data), the same for every seed, with counter (s,
/// 0, i): s = 0 for x, 1 for W1, 2 for W2, i the row-major place. The hash covers x and labels, and so may differ where
/// the C library's log, cos or tanh do. Throws ConfigError if a size is not positive, or too large, or paths are given.
std::unique_ptr<DataSource> make_synthetic(const DataConfig& config);

}  // namespace onebit::sim
