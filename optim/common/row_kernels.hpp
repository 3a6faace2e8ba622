#pragma once
// Kernels for workers that each have their own row. Row w starts at w * columns, except for gradients, which have a
// stride.

#include "optim/adam/adam_kernels.hpp"

namespace onebit::optim {

/// Copies one row to many.
struct SpreadKernel {
  const float* row;
  float* rows;
  Index columns;
  ONEBIT_HOST_DEVICE void operator()(Index r, Index i) const { rows[r * columns + i] = row[i]; }
};

/// Updates the momentum of each row, m = beta m + factor g.
struct MomentumRowsKernel {
  float* momentum;
  Index columns;
  const float* gradients;
  Index stride;
  float beta;
  const float* factors;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    float& m = momentum[row * columns + i];
    m = beta * m + factors[row] * gradients[row * stride + i];
  }
};

/// Updates both moments of Adam.
struct MomentsRowsKernel {
  AdamStep s;
  float* momentum;
  float* variance;
  Index columns;
  const float* gradients;
  Index stride;
  const float* factors;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    const Index at = row * columns + i;
    adam_moments(s, factors[row] * gradients[row * stride + i], momentum[at], variance[at]);
  }
};

/// Makes the step `to = from - lr (m + decay * from)` in every row. Yields the squared step.
struct SgdMoveKernel {
  float lr;
  const float* decay;  ///< [columns]
  const float* momentum;
  Index columns;
  const float* from;
  float* to;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    const Index at = row * columns + i;
    const float x = from[at];
    const float move = lr * (momentum[at] + decay[i] * x);
    to[at] = x - move;
    return static_cast<double>(move) * static_cast<double>(move);
  }
};

/// Adam's step in every row, with moments per row. Yields the squared step.
struct AdamMoveKernel {
  AdamStep s;
  const float* decay;  ///< [columns]
  const float* momentum;
  const float* variance;
  Index columns;
  const float* from;
  float* to;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    const Index at = row * columns + i;
    const float x = from[at];
    const float move = s.lr * adam_direction(s, decay[i], x, momentum[at], variance[at]);
    to[at] = x - move;
    return static_cast<double>(move) * static_cast<double>(move);
  }
};

/// Sets every row to the common point of a synchronisation. Yields the squared step.
struct SynchroniseKernel {
  const float* point;
  float* rows;
  Index columns;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    float& x = rows[row * columns + i];
    const double move = static_cast<double>(point[i]) - static_cast<double>(x);
    x = point[i];
    return move * move;
  }
};

/// DiLoCo's outer step along the displacement anchor - point, where point is the mean of the weights, with Nesterov's
/// momentum as in PyTorch's SGD. Leaves the new point in `point` and `anchor`.
struct OuterStepKernel {
  float lr, beta;
  float* point;
  float* anchor;
  float* momentum;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    const float displacement = anchor[i] - point[i];
    const float m = beta * momentum[i] + displacement;
    const float x = anchor[i] - lr * (displacement + beta * m);
    momentum[i] = m;
    anchor[i] = x;
    point[i] = x;
  }
};

}  // namespace onebit::optim
