#pragma once
// The maths of CADA, one element at a time.

#include "optim/adam/adam_kernels.hpp"

namespace onebit::optim {

/// Yields the terms of every row's ||(g - extra) - stored||^2, which the upload rule measures. If `stored` is null, it
/// counts as 0.
struct InnovationTerm {
  const float* gradients;
  Index stride;
  const float* extra;   ///< [rows][parameters]
  const float* stored;  ///< [rows][parameters]
  Index parameters;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    const Index place = row * parameters + i;
    const float difference = gradients[row * stride + i] - extra[place];
    const auto wide = static_cast<double>(stored == nullptr ? difference : difference - stored[place]);
    return wide * wide;
  }
};

/// Stores the gradients of the rows that upload; under rule 1 also g - extra, or 0 if extra is null.
struct UploadKernel {
  const std::uint8_t* uploads;  ///< [rows]
  const float* gradients;
  Index stride;
  const float* extra;  ///< [rows][parameters] or null
  float* latest;       ///< [rows][parameters]
  float* stored;       ///< [rows][parameters] or null
  Index parameters;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    if (uploads[row] == 0) return;
    const Index place = row * parameters + i;
    const float g = gradients[row * stride + i];
    latest[place] = g;
    if (stored != nullptr) stored[place] = extra == nullptr ? 0.0f : g - extra[place];
  }
};

/// Copies the chosen rows; row r comes from source + r * stride. If `chosen` is null, copies all rows.
struct CopyRowsKernel {
  const std::uint8_t* chosen;  ///< [rows] or null
  const float* source;
  Index stride;
  float* target;  ///< [rows][columns]
  Index columns;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    if (chosen == nullptr || chosen[row] != 0) target[row * columns + i] = source[row * stride + i];
  }
};

/// Adam's moments; top = max(top, v); x -= lr (h / (sqrt(top) + eps) + weight_decay x) (AMSGrad, Reddi et al. 2018).
/// Yields the squared step.
struct AmsgradKernel {
  AdamStep s;
  const TensorRule* rules;
  float* x;
  float* momentum;
  float* variance;
  float* top;
  const float* gradient;

  struct Element {
    AdamStep s;
    float gradient_factor, weight_decay;
    float* x;
    float* momentum;
    float* variance;
    float* top;
    const float* gradient;
    ONEBIT_HOST_DEVICE double operator()(Index i) const {
      adam_moments(s, gradient[i] * gradient_factor, momentum[i], variance[i]);
      if (variance[i] > top[i]) top[i] = variance[i];
      const float move = s.lr * adam_direction(s, weight_decay, x[i], momentum[i], top[i]);
      x[i] = x[i] - move;
      return static_cast<double>(move) * static_cast<double>(move);
    }
  };
  ONEBIT_HOST_DEVICE Element bind(Index, Index tensor) const {
    const TensorRule& r = rules[tensor];
    return {s,
            value_of(s.gradient_factor),
            r.weight_decay,
            x + r.offset,
            momentum + r.offset,
            variance + r.offset,
            top + r.offset,
            gradient + r.offset};
  }
};

}  // namespace onebit::optim
