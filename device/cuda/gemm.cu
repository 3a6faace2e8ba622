#include "device/math/gemm.hpp"

#include "device/cuda/launch.cuh"

namespace onebit::device::cuda {
namespace {

cublasOperation_t operation(bool transpose) {
  return transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/// float32 products use the pedantic mode: never TF32, never emulation by narrower types. The other modes allow cuBLAS
/// to round the operands to fewer bits but do not require it: it may compute some products in more bits (bf16 also in
/// TF32). How it rounds is not documented.
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

/// Writes zeros, which are sums without terms.
void clear(const Context& context, const GemmShape& shape, MatrixOut c, Batch batch) {
  constexpr auto size = static_cast<Index>(sizeof(float));
  for (Index product = 0; product < batch.count(); ++product) {
    check(cudaMemset2DAsync(c.of(product, batch.inner), static_cast<std::size_t>(c.leading * size), 0,
                            static_cast<std::size_t>(shape.n * size), static_cast<std::size_t>(shape.m),
                            context.stream()),
          "cudaMemset2DAsync");
  }
}

/// Whether one stride leads from each matrix of a batch to the next.
template <class T>
bool in_line(const Matrices<T>& matrices, Batch batch) {
  return batch.outer == 1 || batch.inner == 1 || matrices.stride == batch.inner * matrices.inner;
}
/// The stride from each matrix of a batch to the next.
template <class T>
Index stride(const Matrices<T>& matrices, Batch batch) {
  return batch.inner == 1 ? matrices.stride : matrices.inner;
}

/// Writes the addresses at which the matrices of every product begin.
struct StartsKernel {
  MatrixIn a, b;
  MatrixOut c;
  Index inner;
  const void** a_starts;
  const void** b_starts;
  void** c_starts;
  ONEBIT_HOST_DEVICE void operator()(Index product) const {
    a_starts[product] = a.of(product, inner);
    b_starts[product] = b.of(product, inner);
    c_starts[product] = c.of(product, inner);
  }
};

/// Writes these addresses to the queue's workspace. No operand of a batch that needs them may be there.
StartsKernel find_starts(const Queue& queue, MatrixIn a, MatrixIn b, MatrixOut c, Batch batch) {
  const Index count = batch.count();
  auto* starts = static_cast<const void**>(queue.context().workspace(3 * count * static_cast<Index>(sizeof(void*))));
  const StartsKernel kernel{a, b, c, batch.inner, starts, starts + count, const_cast<void**>(starts + 2 * count)};
  for_each(queue, count, kernel);
  return kernel;
}

}  // namespace

/// cuBLAS is column-major and our matrices are row-major, so it sees the transpose of every matrix: C' = op(B)' op(A)'.
/// All its sizes are 64 bits wide. It chooses its method by the shape: equal shapes give equal bits, but a row may
/// differ in its last bits between products with different numbers of rows.
void gemm_batched(const Queue& queue, const GemmShape& shape, MatrixIn a, MatrixIn b, MatrixOut c, Batch batch) {
  const Index count = batch.count();
  if (shape.m == 0 || shape.n == 0 || count == 0) return;
  Context& context = queue.context();
  context.make_current();
  if (shape.k == 0) {
    if (!shape.accumulate) clear(context, shape, c, batch);
    return;
  }
  const float one = 1.0f;
  const float keep = shape.accumulate ? 1.0f : 0.0f;
  const cublasOperation_t op_a = operation(shape.transpose_a), op_b = operation(shape.transpose_b);
  const cublasComputeType_t compute = compute_type(queue.precision());
  if (in_line(a, batch) && in_line(b, batch) && in_line(c, batch)) {
    check(blas().gemm_strided(context.blas(), op_b, op_a, shape.n, shape.m, shape.k, &one, b.data, CUDA_R_32F,
                              b.leading, stride(b, batch), a.data, CUDA_R_32F, a.leading, stride(a, batch), &keep,
                              c.data, CUDA_R_32F, c.leading, stride(c, batch), count, compute, CUBLAS_GEMM_DEFAULT),
          "cublasGemmStridedBatchedEx");
    return;
  }
  const StartsKernel at = find_starts(queue, a, b, c, batch);
  check(blas().gemm_scattered(context.blas(), op_b, op_a, shape.n, shape.m, shape.k, &one, at.b_starts, CUDA_R_32F,
                              b.leading, at.a_starts, CUDA_R_32F, a.leading, &keep, at.c_starts, CUDA_R_32F, c.leading,
                              count, compute, CUBLAS_GEMM_DEFAULT),
        "cublasGemmBatchedEx");
}

}  // namespace onebit::device::cuda
