#pragma once
// Kernels of attention, which compute a row of scores at a time. Row r belongs to the query at position r modulo
// `positions`.

#include "sim/layers/softmax.hpp"

namespace onebit::sim {

/// Number of keys that the query of a row reads.
ONEBIT_HOST_DEVICE inline Index keys_of(Index row, Index positions, bool causal) {
  return causal ? row % positions + 1 : positions;
}

/// Replaces the scores by softmax(scale * scores) over the keys that are read, and by zero for the other keys.
struct AttentionKernel {
  Index positions;
  bool causal;
  float scale;
  float* scores;

  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index row, const Lanes& lanes) const {
    float* s = scores + row * positions;
    const Index keys = keys_of(row, positions, causal);
    const float by = scale;
    lanes.each(keys, [=](Index j) { s[j] *= by; });
    lanes.barrier();
    const float top = lanes.largest(keys, [s](Index i) { return s[i]; });
    lanes.barrier();
    const auto factor = static_cast<float>(1.0 / exponentiate(lanes, s, keys, top));
    lanes.each(keys, [=](Index j) { s[j] *= factor; });
    lanes.each(positions - keys, [=](Index j) { s[keys + j] = 0.0f; });
  }
};

/// Turns delta, the gradient with respect to the probabilities p, into the gradient with respect to the unscaled
/// scores, scale * p * (delta - sum p delta).
struct AttentionDeltaKernel {
  Index positions;
  bool causal;
  float scale;
  const float* probabilities;
  float* delta;

  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index row, const Lanes& lanes) const {
    const float* p = probabilities + row * positions;
    float* d = delta + row * positions;
    const Index keys = keys_of(row, positions, causal);
    const auto product = [=](Index j) { return static_cast<double>(p[j]) * static_cast<double>(d[j]); };
    const auto mean = static_cast<float>(lanes.sum(keys, product));
    const float by = scale;
    lanes.each(keys, [=](Index j) { d[j] = by * p[j] * (d[j] - mean); });
    lanes.each(positions - keys, [=](Index j) { d[keys + j] = 0.0f; });
  }
};

}  // namespace onebit::sim
