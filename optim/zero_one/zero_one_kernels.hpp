#pragma once
// The local phase of 0/1 Adam, one element at a time. Workers' rows are [workers][columns]; v is shared and frozen. d =
// sqrt(v) c2 + eps is Adam's denominator; decay is [columns].

#include "optim/common/row_kernels.hpp"

namespace onebit::optim {

ONEBIT_HOST_DEVICE inline float denominator(const AdamStep& s, float v) {
  return std::sqrt(v) * s.root_correction + s.eps;
}

/// Adds lr c1 m to the drift, that is, the step along the momentum before it is divided by d; a coordinate with v = 0
/// keeps m = 0.
struct ZeroOneDriftKernel {
  AdamStep s;
  float* momentum;
  const float* variance;
  float* drift;
  Index columns;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    const Index at = row * columns + i;
    if (variance[i] == 0.0f) momentum[at] = 0.0f;
    drift[at] = drift[at] + s.lr * (momentum[at] * s.momentum_correction);
  }
};

/// Adam's step in the row of every worker, with that worker's own momentum. Yields the squared step.
struct ZeroOneMoveKernel {
  AdamStep s;
  const float* decay;
  const float* momentum;
  const float* variance;
  float* x;
  Index columns;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    const Index at = row * columns + i;
    const float move = s.lr * adam_direction(s, decay[i], x[at], momentum[at], variance[i]);
    x[at] = x[at] - move;
    return static_cast<double>(move) * static_cast<double>(move);
  }
};

/// Applies only weight decay, to the parameters of the last synchronisation.
struct DecayKernel {
  float lr;
  const float* decay;
  float* x;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { x[i] = x[i] - lr * (decay[i] * x[i]); }
};

/// Moves the point of the last synchronisation by the mean drift divided by d. The mean drift is then multiplied by
/// momentum_share and so becomes the new momentum: the average of the momenta whose steps add up to the drift.
struct ZeroOneSynchroniseKernel {
  AdamStep s;
  float momentum_share;  ///< 1 / sum of lr c1 since the last synchronisation
  float* anchor;
  float* mean;
  const float* variance;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    const float drift = variance[i] == 0.0f ? 0.0f : mean[i];
    anchor[i] = anchor[i] - drift / denominator(s, variance[i]);
    mean[i] = drift * momentum_share;
  }
};

/// The released code's local step, whose drift includes weight decay. Yields the squared step.
struct ReleasedMoveKernel {
  AdamStep s;
  const float* decay;
  const float* momentum;
  const float* variance;
  float* x;
  float* drift;
  Index columns;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    const Index at = row * columns + i;
    const float move = s.lr * adam_direction(s, decay[i], x[at], momentum[at], variance[i]);
    x[at] = x[at] - move;
    drift[at] = drift[at] - move;
    return static_cast<double>(move) * static_cast<double>(move);
  }
};

/// The released code's drift before a synchronisation. Adds this step's move to `drift` and writes what is exchanged:
/// scaled = drift * (sqrt(v) c2 + eps). ReleasedSynchroniseKernel then updates the weights.
struct ReleasedDriftKernel {
  AdamStep s;
  const float* decay;
  const float* momentum;
  const float* variance;
  const float* x;
  float* drift;
  float* scaled;
  Index columns;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    const Index at = row * columns + i;
    drift[at] = drift[at] - s.lr * adam_direction(s, decay[i], x[at], momentum[at], variance[i]);
    scaled[at] = drift[at] * denominator(s, variance[i]);
  }
};

/// The released code's synchronisation: makes the local step, subtracts the whole drift, and adds the mean drift.
/// Yields the squared step.
struct ReleasedSynchroniseKernel {
  AdamStep s;
  const float* decay;
  float momentum_share;  ///< -1 / sum of lr since the last synchronisation
  float* momentum;
  const float* variance;
  const float* mean;
  float* x;
  float* drift;
  Index columns;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    const Index at = row * columns + i;
    float moved = x[at] - s.lr * adam_direction(s, decay[i], x[at], momentum[at], variance[i]);
    moved = moved - drift[at];
    moved = moved + mean[i] / denominator(s, variance[i]);
    const double step = static_cast<double>(moved) - static_cast<double>(x[at]);
    momentum[at] = mean[i] * momentum_share;
    drift[at] = 0.0f;
    x[at] = moved;
    return step * step;
  }
};

}  // namespace onebit::optim
