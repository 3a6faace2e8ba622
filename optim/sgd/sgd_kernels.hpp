#pragma once
// The maths of the SGD family, one element at a time.

#include "optim/adam/adam_kernels.hpp"

namespace onebit::optim {

/// Numbers of one update, the same for all elements.
struct DescentStep {
  float lr = 0;
  float momentum = 0;
  bool nesterov = false;
  const float* gradient_factor = nullptr;  ///< clipping factor in device memory; null: 1
};

/// Makes one update: m = momentum m + g; x -= lr (m + weight_decay x), or for Nesterov x -= lr (g + momentum m +
/// weight_decay x). If `momentum` is null, m = g. Yields the squared step.
struct DescentKernel {
  DescentStep s;
  const TensorRule* rules;
  float* x;
  float* momentum;
  const float* gradient;

  struct Element {
    DescentStep s;
    float gradient_factor, weight_decay;
    Index offset;  ///< one offset for the three pointers, because three shifted pointers would take too many registers
    float* x;
    float* momentum;
    const float* gradient;
    ONEBIT_HOST_DEVICE double operator()(Index i) const {
      const Index at = offset + i;
      float direction = gradient[at] * gradient_factor;
      if (momentum != nullptr) {
        const float m = s.momentum * momentum[at] + direction;
        momentum[at] = m;
        direction = s.nesterov ? direction + s.momentum * m : m;
      }
      const float move = s.lr * (direction + weight_decay * x[at]);
      x[at] = x[at] - move;
      return static_cast<double>(move) * static_cast<double>(move);
    }
  };
  ONEBIT_HOST_DEVICE Element bind(Index, Index tensor) const {
    const TensorRule& r = rules[tensor];
    return {s, value_of(s.gradient_factor), r.weight_decay, r.offset, x, momentum, gradient};
  }
};

/// Updates a worker's own momentum, m = decay m + share g, where g is its clipped gradient. If `sent` is not null, also
/// stores the Nesterov step, decay m + share g, in it; this step is then exchanged.
struct WorkerMomentumKernel {
  float decay, share;
  const float* factors;  ///< [rows]
  const float* gradients;
  Index stride;
  float* momentum;  ///< [rows][parameters]
  float* sent;      ///< [rows][parameters] or null
  Index parameters;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    const Index place = row * parameters + i;
    const float g = share * (factors[row] * gradients[row * stride + i]);
    const float m = decay * momentum[place] + g;
    momentum[place] = m;
    if (sent != nullptr) sent[place] = decay * m + g;
  }
};

/// Updates the v of an EF21 worker: v' = keep v + share g, where g is its clipped gradient. The difference v' - v is
/// exchanged.
struct DifferenceKernel {
  float keep, share;
  const float* factors;  ///< [rows]
  const float* gradients;
  Index stride;
  float* estimate;    ///< [rows][parameters]
  float* difference;  ///< [rows][parameters]
  Index parameters;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    const Index place = row * parameters + i;
    const float before = estimate[place];
    const float after = keep * before + share * (factors[row] * gradients[row * stride + i]);
    estimate[place] = after;
    difference[place] = after - before;
  }
};

}  // namespace onebit::optim
