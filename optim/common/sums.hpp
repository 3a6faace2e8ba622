#pragma once
// Deterministic sums for optimizers.

#include <cmath>
#include <numeric>

#include "device/launch/sums.hpp"

namespace onebit::optim {

template <class Values>
double total(const Values& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Returns the square root of the sum of these squares.
inline device::Number norm_of(const device::Future<double>& squares) {
  return device::Number([squares] { return std::sqrt(total(squares)); });
}

}  // namespace onebit::optim
