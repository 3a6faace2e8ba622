#include "device/math/gemm.hpp"

#include "device/cuda/launch.cuh"

namespace onebit::device::cuda {
namespace {

cublasOperation_t operation(bool transpose) {
  return transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/// float32 products use the pedantic mode: never TF32, never emulation by narrower types. In the other modes cuBLAS may
/// round the operands to fewer bits but need not: it may compute some products in more bits (in bf16 mode, also in
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

/// Whether every matrix of a batch begins at a multiple of 16 bytes.
template <class T>
bool begin_aligned(const Matrices<T>& matrices, Batch batch) {
  constexpr std::uintptr_t bytes = 16;
  constexpr Index floats = bytes / sizeof(float);
  return reinterpret_cast<std::uintptr_t>(matrices.data) % bytes == 0 &&
         (batch.outer == 1 || matrices.stride % floats == 0) && (batch.inner == 1 || matrices.inner % floats == 0);
}

/// The matrices of the inner products with the outer index o.
template <class T>
Matrices<T> inner_of(const Matrices<T>& matrices, Index o) {
  return {matrices.data + o * matrices.stride, matrices.leading, matrices.inner, 0};
}
/// The matrices of the outer products with the inner index h.
template <class T>
Matrices<T> outer_of(const Matrices<T>& matrices, Index h) {
  return {matrices.data + h * matrices.inner, matrices.leading, matrices.stride, 0};
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

/// Writes the addresses at which the matrices begin to the queue's workspace, which must not contain the operands.
StartsKernel find_starts(const Queue& queue, MatrixIn a, MatrixIn b, MatrixOut c, Batch batch) {
  const Index count = batch.count();
  auto* starts = static_cast<const void**>(queue.context().workspace(3 * count * static_cast<Index>(sizeof(void*))));
  const StartsKernel kernel{a, b, c, batch.inner, starts, starts + count, const_cast<void**>(starts + 2 * count)};
  for_each(queue, count, kernel);
  return kernel;
}

/// A product as cuBLAS expects it.
struct Product {
  const Queue& queue;
  const GemmShape& shape;
  float one = 1.0f, keep = shape.accumulate ? 1.0f : 0.0f;
  cublasOperation_t op_a = operation(shape.transpose_a), op_b = operation(shape.transpose_b);
  cublasComputeType_t compute = compute_type(queue.precision());

  /// Products whose matrices are evenly spaced in memory.
  void in_line(MatrixIn a, MatrixIn b, MatrixOut c, Batch batch) const {
    const cublasHandle_t handle = queue.context().blas();
    queue.context().with_memory("cublasGemmStridedBatchedEx", [&] {
      return blas().gemm_strided(handle, op_b, op_a, shape.n, shape.m, shape.k, &one, b.data, CUDA_R_32F, b.leading,
                                 stride(b, batch), a.data, CUDA_R_32F, a.leading, stride(a, batch), &keep, c.data,
                                 CUDA_R_32F, c.leading, stride(c, batch), batch.count(), compute, CUBLAS_GEMM_DEFAULT);
    });
  }

  /// Products whose matrices may be anywhere in memory.
  void scattered(MatrixIn a, MatrixIn b, MatrixOut c, Batch batch) const {
    const StartsKernel at = find_starts(queue, a, b, c, batch);
    const cublasHandle_t handle = queue.context().blas();
    queue.context().with_memory("cublasGemmBatchedEx", [&] {
      return blas().gemm_scattered(handle, op_b, op_a, shape.n, shape.m, shape.k, &one, at.b_starts, CUDA_R_32F,
                                   b.leading, at.a_starts, CUDA_R_32F, a.leading, &keep, at.c_starts, CUDA_R_32F,
                                   c.leading, batch.count(), compute, CUBLAS_GEMM_DEFAULT);
    });
  }

  /// Scattered products, as one batch for each index of the smaller level; the matrices of each batch are evenly
  /// spaced.
  void level_by_level(MatrixIn a, MatrixIn b, MatrixOut c, Batch batch) const {
    if (batch.outer <= batch.inner) {
      for (Index o = 0; o < batch.outer; ++o) in_line(inner_of(a, o), inner_of(b, o), inner_of(c, o), batch.inner);
    } else {
      for (Index h = 0; h < batch.inner; ++h) in_line(outer_of(a, h), outer_of(b, h), outer_of(c, h), batch.outer);
    }
  }
};

}  // namespace

/// cuBLAS is column-major and our matrices are row-major, so it sees the transpose of every matrix: C' = op(B)' op(A)'.
/// All sizes passed to it are 64 bits wide. It chooses its method by the shape: equal shapes give equal bits, but a row
/// may differ in its last bits between products with different numbers of rows. cuBLAS sees the addresses of evenly
/// spaced matrices, and has kernels for any alignment. The addresses of scattered matrices are in the GPU's memory:
/// according to the cuBLAS manual, they must be multiples of 16 bytes in the modes that use tensor cores
/// (cublasGemmBatchedEx, "properly aligned"). The addresses of attention heads with an odd width are not.
void gemm_batched(const Queue& queue, const GemmShape& shape, MatrixIn a, MatrixIn b, MatrixOut c, Batch batch) {
  const Index count = batch.count();
  if (shape.m == 0 || shape.n == 0 || count == 0) return;
  Context& context = queue.context();
  context.make_current();
  if (shape.k == 0) {
    if (!shape.accumulate) clear(context, shape, c, batch);
    return;
  }
  const Product product{queue, shape};
  if (in_line(a, batch) && in_line(b, batch) && in_line(c, batch)) return product.in_line(a, b, c, batch);
  const bool aligned = begin_aligned(a, batch) && begin_aligned(b, batch) && begin_aligned(c, batch);
  if (aligned || queue.precision() == Precision::fp32) return product.scattered(a, b, c, batch);
  product.level_by_level(a, b, c, batch);
}

}  // namespace onebit::device::cuda
