#include "device/gemm.hpp"

#include "device/cuda/blas.hpp"
#include "device/cuda/context.cuh"

namespace onebit::device::cuda {
namespace {

cublasOperation_t operation(bool transpose) {
  return transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/// Sums of no terms.
void clear(const Context& context, const GemmShape& shape, MatrixOut c, Index batch) {
  constexpr auto size = static_cast<Index>(sizeof(float));
  for (Index matrix = 0; matrix < batch; ++matrix) {
    check(cudaMemset2DAsync(c.data + matrix * c.stride, static_cast<std::size_t>(c.leading * size), 0,
                            static_cast<std::size_t>(shape.n * size), static_cast<std::size_t>(shape.m),
                            context.stream()),
          "cudaMemset2DAsync");
  }
}

}  // namespace

/// cuBLAS sees columns where we have rows, and so the transpose of every matrix: C' = op(B)' op(A)'. All its sizes are
/// 64 bits wide. It picks its method by the shape: equal shapes give equal bits, but a row of a product of another
/// number of rows may differ in its last ones.
void gemm_batched(const Queue& queue, const GemmShape& shape, MatrixIn a, MatrixIn b, MatrixOut c, Index batch) {
  if (shape.m == 0 || shape.n == 0 || batch == 0) return;
  const Context& context = queue.context();
  context.make_current();
  if (shape.k == 0) {
    if (!shape.accumulate) clear(context, shape, c, batch);
    return;
  }
  const float one = 1.0f;
  const float keep = shape.accumulate ? 1.0f : 0.0f;
  check(blas().gemm_batched(context.blas(), operation(shape.transpose_b), operation(shape.transpose_a), shape.n,
                            shape.m, shape.k, &one, b.data, b.leading, b.stride, a.data, a.leading, a.stride, &keep,
                            c.data, c.leading, c.stride, batch),
        "cublasSgemmStridedBatched");
}

}  // namespace onebit::device::cuda
