#pragma once
// The pieces of a row's softmax. Their loops over 16 lanes vectorise, and fix the order of the sum.

#include <cmath>

#include "device/math.hpp"

namespace onebit::sim {

namespace detail {

inline constexpr Index kRowLanes = 16;

/// z[l] = exp(z[l] - top), and sums[l] += z[l].
ONEBIT_HOST_DEVICE inline void exponentiate_lanes(float* z, float top, double* sums) {
  for (Index l = 0; l < kRowLanes; ++l) {
    z[l] = device::exp(z[l] - top);
    sums[l] += static_cast<double>(z[l]);
  }
}

}  // namespace detail

/// The largest of n >= 1 numbers. NaN is passed over, except in front.
ONEBIT_HOST_DEVICE inline float row_max(const float* z, Index n) {
  using detail::kRowLanes;
  float lanes[kRowLanes];
  for (Index l = 0; l < kRowLanes; ++l) lanes[l] = z[0];
  Index first = 0;
  for (; first + kRowLanes <= n; first += kRowLanes) {
    for (Index l = 0; l < kRowLanes; ++l) lanes[l] = z[first + l] > lanes[l] ? z[first + l] : lanes[l];
  }
  for (Index l = 0; first + l < n; ++l) lanes[l] = z[first + l] > lanes[l] ? z[first + l] : lanes[l];
  float top = lanes[0];
  for (Index l = 1; l < kRowLanes; ++l) top = lanes[l] > top ? lanes[l] : top;
  return top;
}

/// Whether no number before z[i] equals it.
ONEBIT_HOST_DEVICE inline bool first_of_equals(const float* z, Index i) {
  std::int32_t equals = 0;
  for (Index c = 0; c < i; ++c) equals |= z[c] == z[i] ? 1 : 0;
  return equals == 0;
}

/// z = exp(z - top); returns the sum in double: 16 interleaved partial sums, then those by a pairwise tree.
ONEBIT_HOST_DEVICE inline double exponentiate(float* z, Index n, float top) {
  using detail::kRowLanes;
  double lanes[kRowLanes] = {};
  Index first = 0;
  for (; first + kRowLanes <= n; first += kRowLanes) detail::exponentiate_lanes(z + first, top, lanes);
  if (first < n) {  // the rest among lanes that add nothing
    float rest[kRowLanes];
    for (Index l = 0; l < kRowLanes; ++l) rest[l] = first + l < n ? z[first + l] : -INFINITY;
    detail::exponentiate_lanes(rest, top, lanes);
    for (Index l = 0; first + l < n; ++l) z[first + l] = rest[l];
  }
  for (Index step = 1; step < kRowLanes; step *= 2) {
    for (Index l = 0; l < kRowLanes; l += 2 * step) lanes[l] += lanes[l + step];
  }
  return lanes[0];
}

}  // namespace onebit::sim
