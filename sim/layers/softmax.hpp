#pragma once
// A step of the softmax of a row.

#include "device/math/math.hpp"

namespace onebit::sim {

/// Replaces z by exp(z - top), each number in the lane that owns it. Returns the sum in double.
template <class Lanes>
ONEBIT_DEVICE double exponentiate(const Lanes& lanes, float* z, Index n, float top) {
  lanes.each(n, [=](Index i) { z[i] = device::exp(z[i] - top); });
  return lanes.sum(n, [=](Index i) { return static_cast<double>(z[i]); });
}

}  // namespace onebit::sim
