#pragma once
// Matrix products on row-major float matrices: one entry for plain, one for strided batches.

#include "device/device.hpp"

namespace onebit::device {

/// C[m x n] = op(A)[m x k] op(B)[k x n], or C += where accumulate. op transposes where asked. A and B are taken in the
/// device's precision. On the CPU the bits of an element depend on its row of op(A), its column of op(B) and k alone.
struct GemmShape {
  Index m = 0, n = 0, k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
};

/// A matrix of a batch: element (i, j) of matrix b is data[b * stride + i * leading + j]. stride 0: all share one
/// matrix.
struct MatrixIn {
  const float* data = nullptr;
  Index leading = 0;
  Index stride = 0;
};

struct MatrixOut {
  float* data = nullptr;
  Index leading = 0;
  Index stride = 0;
};

namespace cpu {
void gemm_batched(const Queue& queue, const GemmShape& shape, MatrixIn a, MatrixIn b, MatrixOut c, Index batch);
}
#if defined(ONEBIT_CUDA)
namespace cuda {
void gemm_batched(const Queue& queue, const GemmShape& shape, MatrixIn a, MatrixIn b, MatrixOut c, Index batch);
}
#endif

/// `batch` products; strides count between the matrices of consecutive products.
inline void gemm_batched(const Device& device, const GemmShape& shape, MatrixIn a, MatrixIn b, MatrixOut c,
                         Index batch) {
  device.run([&](const auto& queue) { gemm_batched(queue, shape, a, b, c, batch); });
}

inline void gemm(const Device& device, const GemmShape& shape, MatrixIn a, MatrixIn b, MatrixOut c) {
  gemm_batched(device, shape, a, b, c, 1);
}

}  // namespace onebit::device
