#pragma once
// Conversion between the margins of a binary classifier and its two logits.

#include "device/base/types.hpp"

namespace onebit::sim {

/// Computes logits[row] = (0, margin + bias).
struct MarginLogitsKernel {
  Index batch;
  const float* margins;
  const float* bias;  ///< may be null
  Index bias_stride;
  float* logits;
  ONEBIT_HOST_DEVICE void operator()(Index row) const {
    logits[2 * row] = 0.0f;
    logits[2 * row + 1] = margins[row] + (bias != nullptr ? bias[row / batch * bias_stride] : 0.0f);
  }
};

/// Copies the gradient with respect to the second logit, which is also the gradient with respect to the margin.
struct MarginDeltaKernel {
  const float* logits_delta;
  float* margins_delta;
  ONEBIT_HOST_DEVICE void operator()(Index row) const { margins_delta[row] = logits_delta[2 * row + 1]; }
};

}  // namespace onebit::sim
