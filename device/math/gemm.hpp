#pragma once
// Matrix products on row-major float matrices: one function for single products, and one for batches of one or two
// levels.

#include "device/device.hpp"

namespace onebit::device {

/// The shape of a product C[m x n] = op(A)[m x k] op(B)[k x n], or C += ... if `accumulate`. op transposes the matrices
/// for which transpose_a or transpose_b is set. A and B are rounded to the device's precision. On the CPU the bits of
/// an element depend on its row of op(A), its column of op(B) and k alone.
struct GemmShape {
  Index m = 0, n = 0, k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
};

/// The number of products in a batch: `outer` groups of `inner` consecutive products.
struct Batch {
  Batch(Index outer_products, Index inner_products = 1) : outer(outer_products), inner(inner_products) {}
  Index count() const { return outer * inner; }
  Index outer, inner;
};

/// The matrices of a batch: element (i, j) of matrix (o, h) is data[o * stride + h * inner + i * leading + j]. A stride
/// of 0 means that all products of its level share one matrix.
template <class T>
struct Matrices {
  T* data = nullptr;
  Index leading = 0;
  Index stride = 0;
  Index inner = 0;  ///< stride of the inner level

  /// The matrix of product p in a batch with `inner_count` inner products.
  ONEBIT_HOST_DEVICE T* of(Index p, Index inner_count) const {
    return data + p / inner_count * stride + p % inner_count * inner;
  }
};
using MatrixIn = Matrices<const float>;
using MatrixOut = Matrices<float>;

namespace cpu {
void gemm_batched(const Queue& queue, const GemmShape& shape, MatrixIn a, MatrixIn b, MatrixOut c, Batch batch);
}
#if defined(ONEBIT_CUDA)
namespace cuda {
void gemm_batched(const Queue& queue, const GemmShape& shape, MatrixIn a, MatrixIn b, MatrixOut c, Batch batch);
}
#endif

/// Computes all products of the batch. A batch that is given as a single number n has n groups of one product.
inline void gemm_batched(const Device& device, const GemmShape& shape, MatrixIn a, MatrixIn b, MatrixOut c,
                         Batch batch) {
  device.run([&](const auto& queue) { gemm_batched(queue, shape, a, b, c, batch); });
}

inline void gemm(const Device& device, const GemmShape& shape, MatrixIn a, MatrixIn b, MatrixOut c) {
  gemm_batched(device, shape, a, b, c, 1);
}

}  // namespace onebit::device
