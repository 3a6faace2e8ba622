#pragma once
// Teacher-student classification: data of any size with known labels, made from a few numbers.

#include <memory>

#include "sim/data/data.hpp"

namespace onebit::sim {

/// Makes `config.examples` points x ~ N(0, 1)^features with label = argmax of W2 tanh(W1 x / sqrt(features)), where W1
/// [32 x features] and W2 [classes x 32] ~ N(0, 1). All of them are drawn once, the same for every seed, from the
/// Philox key (0, data) with the counter (s, 0, i): s = 0 for x, 1 for W1, 2 for W2; i is the row-major place. The hash
/// covers x and the labels, so it may differ between C libraries whose log, cos or tanh differ. Throws ConfigError if
/// there are fewer than 2 classes, if another size is not positive, if a size is too large, or if paths are given.
std::unique_ptr<DataSource> make_synthetic(const DataConfig& config);

}  // namespace onebit::sim
