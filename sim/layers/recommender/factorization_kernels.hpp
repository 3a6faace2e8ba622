#pragma once
// Kernels of factorization machines whose fields are divided among workers.

#include "sim/layers/recommender/bag_kernels.hpp"

namespace onebit::sim {

/// Returns the part to which share_of assigns item `item` of `count` items.
ONEBIT_HOST_DEVICE constexpr Index share_with(Index count, Index parts, Index item) {
  const Index each = count / parts, more = count % parts, larger = more * (each + 1);
  return item < larger ? item / (each + 1) : more + (item - larger) / each;
}

/// Computes sums[example][part] = (sum of w, sum of v, sum of all v^2) over the part's fields; with 0 factors, only the
/// first of these.
struct FieldSumsKernel {
  Index fields, factors, parts, columns;
  const float* vectors;  ///< (w, v), [examples][fields][1 + factors]
  float* sums;           ///< [examples][parts][columns]
  ONEBIT_HOST_DEVICE void operator()(Index row, Index column) const {
    const Index part = row % parts, example = row / parts;
    const Range own = share_of(fields, parts, part);
    const float* from = vectors + (example * fields + own.first) * (1 + factors);
    double sum = 0;
    for (Index field = 0; field < own.count; ++field, from += 1 + factors) {
      if (column <= factors) {
        sum += static_cast<double>(from[column]);
        continue;
      }
      for (Index f = 1; f <= factors; ++f) sum += static_cast<double>(from[f]) * static_cast<double>(from[f]);
    }
    sums[row * columns + column] = static_cast<float>(sum);
  }
};

/// Gradient of (w, v): dw = da, dv_f = dq_f + 2 dc v_f, plus the gradient through the product with v.
struct FieldDeltaKernel {
  Index fields, factors, parts, columns;
  const float* vectors;
  const float* sums_delta;
  const float* products_delta;  ///< [examples][fields][factors]; may be null
  float* vectors_delta;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index column) const {
    const Index field = row % fields, example = row / fields;
    const float* delta = sums_delta + (example * parts + share_with(fields, parts, field)) * columns;
    double value = static_cast<double>(delta[column]);
    if (column > 0) {
      const auto v = static_cast<double>(vectors[row * (1 + factors) + column]);
      value += 2.0 * static_cast<double>(delta[1 + factors]) * v;
      if (products_delta != nullptr) value += static_cast<double>(products_delta[row * factors + column - 1]);
    }
    vectors_delta[row * (1 + factors) + column] = static_cast<float>(value);
  }
};

/// Copies some columns of each row of `from` to the same row of `to`.
struct CopyColumnsKernel {
  Index columns, first, width;  ///< columns of a row of `from`; the columns to copy
  const float* from;
  float* to;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index column) const {
    to[row * width + column] = from[row * columns + first + column];
  }
};

/// Computes output = linear + a + 1/2 (sum of q_f^2 - c) + deep.
struct FactorizationKernel {
  Index factors, columns;
  const float* linear;
  const float* sums;  ///< (a, q, c), [examples][columns]; with 0 factors (a)
  const float* deep;  ///< may be null
  float* output;
  ONEBIT_HOST_DEVICE void operator()(Index example) const {
    const float* s = sums + example * columns;
    double value = static_cast<double>(linear[example]) + static_cast<double>(s[0]);
    if (factors > 0) {
      double squares = 0;
      for (Index f = 1; f <= factors; ++f) squares += static_cast<double>(s[f]) * static_cast<double>(s[f]);
      value += 0.5 * (squares - static_cast<double>(s[1 + factors]));
    }
    if (deep != nullptr) value += static_cast<double>(deep[example]);
    output[example] = static_cast<float>(value);
  }
};

/// Gradient of the sums: da = dz, dq_f = dz q_f, dc = -dz / 2, then the gradient of what the deep part reads.
struct FactorizationDeltaKernel {
  Index factors, columns;
  const float* output_delta;
  const float* sums;
  const float* deep_delta;  ///< gradient of the deep part's inputs, [examples][columns - factors - 2]; may be null
  float* sums_delta;
  ONEBIT_HOST_DEVICE void operator()(Index example, Index column) const {
    const float delta = output_delta[example];
    float value = delta;
    if (column > 0 && column <= factors) value = delta * sums[example * columns + column];
    if (column == 1 + factors) value = -0.5f * delta;
    if (column > 1 + factors) value = deep_delta[example * (columns - factors - 2) + column - factors - 2];
    sums_delta[example * columns + column] = value;
  }
};

}  // namespace onebit::sim
