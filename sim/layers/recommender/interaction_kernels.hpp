#pragma once
// Kernels of the interaction of features in a recommendation model.

#include "device/base/types.hpp"

namespace onebit::sim {

/// Stacks vectors: vectors[example] = first[example] followed by others[example].
struct StackKernel {
  Index first_width, width;  ///< numbers of `first`, numbers of both together
  const float* first;
  const float* others;
  float* vectors;
  ONEBIT_HOST_DEVICE void operator()(Index example, Index i) const {
    vectors[example * width + i] =
        i < first_width ? first[example * first_width + i] : others[example * (width - first_width) + i - first_width];
  }
};

/// Takes apart the vectors that StackKernel has stacked.
struct UnstackKernel {
  Index first_width, width;
  const float* vectors;
  float* first;
  float* others;
  ONEBIT_HOST_DEVICE void operator()(Index example, Index i) const {
    const float value = vectors[example * width + i];
    if (i < first_width) {
      first[example * first_width + i] = value;
    } else {
      others[example * (width - first_width) + i - first_width] = value;
    }
  }
};

/// Number of pairs (i, j) with j < i < n.
ONEBIT_HOST_DEVICE constexpr Index pairs(Index n) {
  return n * (n - 1) / 2;
}

/// Computes output[example] = the first vector, then the products (i, j), j < i, row by row.
struct LowerTriangleKernel {
  Index features, width;
  const float* vectors;   ///< [examples][features][width]
  const float* products;  ///< [examples][features][features]
  float* output;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index j) const {
    const Index example = row / features, i = row - example * features;
    float* out = output + example * (width + pairs(features));
    if (j < i) out[width + pairs(i) + j] = products[row * features + j];
    if (i == 0) {
      for (Index c = j; c < width; c += features) out[c] = vectors[example * features * width + c];
    }
  }
};

/// Copies the gradient of each product to the rows of both of its vectors: delta[i][j] = delta[j][i], 0 on the
/// diagonal.
struct SymmetricKernel {
  Index features, width;
  const float* output_delta;
  float* delta;  ///< [examples][features][features]
  ONEBIT_HOST_DEVICE void operator()(Index row, Index j) const {
    const Index example = row / features, i = row - example * features;
    const float* from = output_delta + example * (width + pairs(features)) + width;
    float value = 0;
    if (i != j) value = i > j ? from[pairs(i) + j] : from[pairs(j) + i];
    delta[row * features + j] = value;
  }
};

/// Adds the gradient of the copied first vector: delta[example][c] += output_delta[example][c], c < width.
struct AddFirstKernel {
  Index vectors_width, output_width;
  const float* output_delta;
  float* delta;
  ONEBIT_HOST_DEVICE void operator()(Index example, Index c) const {
    delta[example * vectors_width + c] += output_delta[example * output_width + c];
  }
};

}  // namespace onebit::sim
