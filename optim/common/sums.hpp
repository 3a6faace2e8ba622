#pragma once
// Deterministic sums as optimizers use them.

#include <cmath>
#include <numeric>

#include "device/launch/sums.hpp"

namespace onebit::optim {

template <class Values>
double total(const Values& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// The norm whose square is the sum of these parts.
inline device::Number norm_of(const device::Future<double>& squares) {
  return device::Number([squares] { return std::sqrt(total(squares)); });
}

}  // namespace onebit::optim
