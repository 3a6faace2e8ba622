#pragma once
// The maths of the Adam family, an element at a time.

#include <cmath>

#include "device/types.hpp"

namespace onebit::optim {

/// Numbers of one update, the same for all elements. Computed once a step on the host, in double.
struct AdamStep {
  float lr = 0;
  float beta1 = 0, one_minus_beta1 = 0;
  float beta2 = 0, one_minus_beta2 = 0;
  float eps = 0;
  float weight_decay = 0;
  float momentum_correction = 1;  ///< 1 / (1 - beta1^t), or 1
  float root_correction = 1;      ///< 1 / sqrt(1 - beta2^t), or 1
  float gradient_factor = 1;      ///< clipping
};

/// x -= lr (m c1 / (sqrt(v) c2 + eps) + weight_decay x); returns the step taken.
ONEBIT_HOST_DEVICE inline float adam_move(const AdamStep& s, float& x, float m, float v) {
  const float update = (m * s.momentum_correction) / (std::sqrt(v) * s.root_correction + s.eps) + s.weight_decay * x;
  const float move = s.lr * update;
  x = x - move;
  return move;
}

/// One Adam update (Kingma and Ba 2015; decoupled decay as AdamW, Loshchilov and Hutter 2019). Yields the squared step.
struct AdamKernel {
  AdamStep s;
  float* x;
  float* momentum;
  float* variance;
  const float* gradient;
  ONEBIT_HOST_DEVICE double operator()(Index, Index, Index i) const {
    const float g = gradient[i] * s.gradient_factor;
    const float m = s.beta1 * momentum[i] + s.one_minus_beta1 * g;
    const float v = s.beta2 * variance[i] + s.one_minus_beta2 * (g * g);
    momentum[i] = m;
    variance[i] = v;
    const auto move = static_cast<double>(adam_move(s, x[i], m, v));
    return move * move;
  }
};

/// The update of 1-bit Adam's compression stage: the momentum came over the wire, the variance is frozen. Where `mask`
/// is set, a coordinate with v = 0 keeps m = 0: one bit cannot carry its zero. Yields the squared step.
struct FrozenAdamKernel {
  AdamStep s;
  bool mask;
  float* x;
  float* momentum;
  const float* variance;
  ONEBIT_HOST_DEVICE double operator()(Index, Index, Index i) const {
    const float m = mask && variance[i] == 0.0f ? 0.0f : momentum[i];
    momentum[i] = m;
    const auto move = static_cast<double>(adam_move(s, x[i], m, variance[i]));
    return move * move;
  }
};

/// One worker in deepspeed semantics: nothing is exchanged, the momentum stays what it is.
struct LocalMomentumKernel {
  float* momentum;
  const float* gradient;
  float beta1;
  const float* factor;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { momentum[i] = beta1 * momentum[i] + factor[0] * gradient[i]; }
};

struct SquareTerm {
  const float* values;
  Index stride;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    const auto value = static_cast<double>(values[row * stride + i]);
    return value * value;
  }
};

struct AbsoluteTerm {
  const float* values;
  ONEBIT_HOST_DEVICE double operator()(Index, Index, Index i) const {
    return std::fabs(static_cast<double>(values[i]));
  }
};

/// Counts the gradients that arrive at the listed coordinates.
struct MaskedGradientTerm {
  const Index* coordinates;
  const float* rows;
  Index stride;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    return rows[row * stride + coordinates[i]] != 0.0f ? 1.0 : 0.0;
  }
};

}  // namespace onebit::optim
