#pragma once
// Terms that TheoryProbe sums, one element at a time.

#include <cmath>

#include "device/base/types.hpp"

namespace onebit::sim {

/// Squared norms from two independent gradients a, b of every worker: |a - b|^2, |a + b|^2, |a|^2 in rows 3 w, 3 w + 1,
/// 3 w + 2.
struct GradientPairTerm {
  static constexpr Index kinds = 3;
  const float* first;
  const float* second;
  Index stride;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    const Index at = row / kinds * stride + i;
    const double a = first[at], b = second[at];
    const double value = row % kinds == 0 ? a - b : row % kinds == 1 ? a + b : a;
    return value * value;
  }
};

/// The product a b or, with a variance, a b / d with d = sqrt(v) * correction + eps; coordinates with v = 0 then do not
/// count.
struct GradientProductTerm {
  const float* first;
  const float* second;
  const float* variance;  ///< null for the plain product
  double correction, eps;
  ONEBIT_HOST_DEVICE double operator()(Index, Index, Index i) const {
    const double product = static_cast<double>(first[i]) * static_cast<double>(second[i]);
    if (variance == nullptr) return product;
    if (variance[i] == 0.0f) return 0;
    return product / (std::sqrt(static_cast<double>(variance[i])) * correction + eps);
  }
};

/// Drift between two variances, over the coordinates where the old one is not 0. Row 0 sums |ln(d_new / d_old)|, row 1
/// counts the coordinates where sqrt(v) * correction changed by more than `share` times its old value, and row 2 counts
/// all coordinates with an old variance other than 0.
struct DriftTerm {
  static constexpr Index kinds = 3;
  const float* old_variance;
  const float* new_variance;
  double old_correction, new_correction, eps, share;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    if (old_variance[i] == 0.0f) return 0;
    const double before = std::sqrt(static_cast<double>(old_variance[i])) * old_correction;
    const double now = std::sqrt(static_cast<double>(new_variance[i])) * new_correction;
    if (row == 0) return std::fabs(std::log((now + eps) / (before + eps)));
    if (row == 1) return std::fabs(now - before) > share * before ? 1.0 : 0.0;
    return 1;
  }
};

/// Computes out = point + factor * direction.
struct AlongKernel {
  const float* point;
  const float* direction;
  float factor;
  float* out;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { out[i] = point[i] + factor * direction[i]; }
};

/// Computes out = a - b.
struct MinusKernel {
  const float* a;
  const float* b;
  float* out;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { out[i] = a[i] - b[i]; }
};

}  // namespace onebit::sim
