#pragma once
// The maths of attention, a row of scores at a time. Row r belongs to the query at position r modulo `positions`.

#include "sim/layers/row_sum.hpp"
#include "sim/layers/softmax.hpp"

namespace onebit::sim {

/// Keys that the query of a row reads.
ONEBIT_HOST_DEVICE inline Index keys_of(Index row, Index positions, bool causal) {
  return causal ? row % positions + 1 : positions;
}

/// scores = softmax(scale * scores) over the keys that are read, zero at the others.
struct AttentionKernel {
  Index positions;
  bool causal;
  float scale;
  float* scores;
  ONEBIT_HOST_DEVICE void operator()(Index row) const {
    float* s = scores + row * positions;
    const Index keys = keys_of(row, positions, causal);
#pragma omp simd
    for (Index j = 0; j < keys; ++j) s[j] *= scale;
    const auto factor = static_cast<float>(1.0 / exponentiate(s, keys, row_max(s, keys)));
#pragma omp simd
    for (Index j = 0; j < keys; ++j) s[j] *= factor;
    for (Index j = keys; j < positions; ++j) s[j] = 0.0f;
  }
};

/// Turns the gradient by probabilities p into that by the unscaled scores: scale * p * (delta - sum p delta).
struct AttentionDeltaKernel {
  Index positions;
  bool causal;
  float scale;
  const float* probabilities;
  float* delta;
  ONEBIT_HOST_DEVICE void operator()(Index row) const {
    const float* p = probabilities + row * positions;
    float* d = delta + row * positions;
    const Index keys = keys_of(row, positions, causal);
    const auto mean = static_cast<float>(row_sum(keys, Product{p, d}));
#pragma omp simd
    for (Index j = 0; j < keys; ++j) d[j] = scale * p[j] * (d[j] - mean);
    for (Index j = keys; j < positions; ++j) d[j] = 0.0f;
  }
};

}  // namespace onebit::sim
