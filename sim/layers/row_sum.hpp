#pragma once
// Sums over the numbers of a row, for kernels whose unit is a row.

#include "device/types.hpp"

namespace onebit::sim {

/// Sum of term(i) over [0, n) in double: 16 interleaved partial sums, which vectorise, then a pairwise tree.
template <class Summand>
ONEBIT_HOST_DEVICE double row_sum(Index n, const Summand& term) {
  constexpr Index kLanes = 16;
  double lanes[kLanes] = {};
  Index i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (Index lane = 0; lane < kLanes; ++lane) lanes[lane] += term(i + lane);
  }
  for (Index lane = 0; i < n; ++i, ++lane) lanes[lane] += term(i);
  for (Index half = kLanes / 2; half > 0; half /= 2) {
    for (Index lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

/// x[i].
struct Value {
  const float* x;
  ONEBIT_HOST_DEVICE double operator()(Index i) const { return static_cast<double>(x[i]); }
};

/// x[i] y[i].
struct Product {
  const float* x;
  const float* y;
  ONEBIT_HOST_DEVICE double operator()(Index i) const { return static_cast<double>(x[i]) * static_cast<double>(y[i]); }
};

}  // namespace onebit::sim
