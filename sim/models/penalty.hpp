#pragma once
// Penalties on the weights, one weight at a time.

#include "device/base/types.hpp"

namespace onebit::sim {

enum class Regulariser { none, l2, nonconvex };

/// Penalty on one weight w: lambda w^2 / 2 for l2, lambda w^2 / (1 + w^2) for nonconvex, 0 for none.
struct Penalty {
  Regulariser regulariser;
  double lambda;
  ONEBIT_HOST_DEVICE double value(double w) const {
    if (regulariser == Regulariser::none) return 0;
    return regulariser == Regulariser::l2 ? 0.5 * lambda * w * w : lambda * w * w / (1 + w * w);
  }
  ONEBIT_HOST_DEVICE double slope(double w) const {
    if (regulariser == Regulariser::none) return 0;
    return regulariser == Regulariser::l2 ? lambda * w : 2 * lambda * w / ((1 + w * w) * (1 + w * w));
  }
};

struct PenaltyTerm {
  Penalty penalty;
  const float* weights;
  Index stride;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    return penalty.value(static_cast<double>(weights[row * stride + i]));
  }
};

/// Yields the penalty like PenaltyTerm, and adds its gradient, times scale, to the rows.
struct PenaltyGradientTerm {
  PenaltyTerm term;
  double scale;
  float* gradients;
  Index stride;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index segment, Index i) const {
    float& gradient = gradients[row * stride + i];
    const double slope = term.penalty.slope(static_cast<double>(term.weights[row * term.stride + i]));
    gradient = static_cast<float>(static_cast<double>(gradient) + scale * slope);
    return term(row, segment, i);
  }
};

}  // namespace onebit::sim
