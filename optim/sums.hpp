#pragma once
// Deterministic sums as optimizers use them.

#include <numeric>

#include "device/sums.hpp"

namespace onebit::optim {

inline double total(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace onebit::optim
