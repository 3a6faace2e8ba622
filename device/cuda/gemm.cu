#include "device/gemm.hpp"

#include "device/cuda/blas.hpp"
#include "device/cuda/context.cuh"

namespace onebit::device::cuda {
namespace {

cublasOperation_t operation(bool transpose) {
  return transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/// float32 is pedantic: never in TF32 or emulated by narrower types. The others allow cuBLAS to convert the operands
/// down, and do not bind it to: it may take some products in more bits (bf16 in TF32, too). How it rounds is not said.
cublasComputeType_t compute_type(Precision precision) {
  switch (precision) {
    case Precision::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Precision::bf16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    default:
      return CUBLAS_COMPUTE_32F_PEDANTIC;
  }
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
                            shape.m, shape.k, &one, b.data, CUDA_R_32F, b.leading, b.stride, a.data, CUDA_R_32F,
                            a.leading, a.stride, &keep, c.data, CUDA_R_32F, c.leading, c.stride, batch,
                            compute_type(queue.precision()), CUBLAS_GEMM_DEFAULT),
        "cublasGemmStridedBatchedEx");
}

}  // namespace onebit::device::cuda
