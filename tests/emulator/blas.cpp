// cuBLAS for emulated GPUs: runs products in the order of the stream, and refuses what cuBLAS refuses. A product is the
// sum of two halves, each by the CPU's loops: cuBLAS does not have the CPU's bits either.

#include "device/cuda/blas.hpp"

#include <algorithm>
#include <atomic>

#include "device/cpu/memory.hpp"
#include "device/math/gemm.hpp"
#include "tests/emulator/stream.hpp"

struct EmulatedBlas {
  cudaStream_t stream = nullptr;
};

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new EmulatedBlas;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

/// Does nothing: the CPU's products need no workspace.
cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "emulated failure";
}

namespace {

using onebit::Index;
using onebit::device::GemmShape;

onebit::device::Precision precision_of(cublasComputeType_t compute) {
  using onebit::device::Precision;
  if (compute == CUBLAS_COMPUTE_32F_FAST_TF32) return Precision::tf32;
  return compute == CUBLAS_COMPUTE_32F_FAST_16BF ? Precision::bf16 : Precision::fp32;
}

/// Translates column-major to row-major: C' = op(B)' op(A)'.
GemmShape shape_of(cublasOperation_t transpose_a, cublasOperation_t transpose_b, std::int64_t m, std::int64_t n,
                   std::int64_t k, const void* beta) {
  return {.m = n,
          .n = m,
          .k = k,
          .transpose_a = transpose_b == CUBLAS_OP_T,
          .transpose_b = transpose_a == CUBLAS_OP_T,
          .accumulate = *static_cast<const float*>(beta) != 0.0f};
}

onebit::device::cpu::Queue queue_of(cublasComputeType_t compute) {
  onebit::device::cpu::Queue queue(1, std::make_shared<onebit::device::cpu::HostMemory>());
  queue.set_precision(precision_of(compute));
  return queue;
}

/// Whether the sizes and leading dimensions, which are those of the row-major matrices, make sense.
bool valid(const GemmShape& shape, Index lda, Index ldb, Index ldc, Index batch) {
  if (std::min({shape.m, shape.n, shape.k, batch}) < 0) return false;
  return lda >= std::max<Index>(1, shape.transpose_a ? shape.m : shape.k) &&
         ldb >= std::max<Index>(1, shape.transpose_b ? shape.k : shape.n) && ldc >= std::max<Index>(1, shape.n);
}

bool aligned(const void* address, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

/// cuBLAS has its own copy of CUDA's runtime, so that its errors do not become the caller's last error.
cublasStatus_t status_of(cudaError_t error) {
  if (error == cudaSuccess) return CUBLAS_STATUS_SUCCESS;
  cudaGetLastError();
  return error == cudaErrorMemoryAllocation ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_EXECUTION_FAILED;
}

std::atomic<int> exact_users = 0;  ///< CpuProducts that live

/// Computes a batch of products as the sums of two products over half of the terms each, unless there are CpuProducts.
void multiply(cublasComputeType_t compute, const GemmShape& shape, const onebit::device::MatrixIn& left,
              const onebit::device::MatrixIn& right, const onebit::device::MatrixOut& out, Index batch) {
  const onebit::device::cpu::Queue queue = queue_of(compute);
  const Index half = exact_users > 0 ? 0 : shape.k / 2;
  GemmShape first = shape, second = shape;
  first.k = half;
  second.k = shape.k - half;
  second.accumulate = shape.accumulate || half > 0;
  if (half > 0) onebit::device::cpu::gemm_batched(queue, first, left, right, out, batch);
  onebit::device::MatrixIn rest_left = left, rest_right = right;
  rest_left.data += half * (shape.transpose_a ? left.leading : 1);
  rest_right.data += half * (shape.transpose_b ? 1 : right.leading);
  onebit::device::cpu::gemm_batched(queue, second, rest_left, rest_right, out, batch);
}

/// The matrices of a product whose addresses are in the GPU's memory.
struct Operands {
  const float* a;
  const float* b;
  float* c;
  bool aligned_to(std::uintptr_t bytes) const { return aligned(a, bytes) && aligned(b, bytes) && aligned(c, bytes); }
};

}  // namespace

/// Sees the addresses and strides, and so needs no more than whole floats.
cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t handle, cublasOperation_t transpose_a,
                                             cublasOperation_t transpose_b, std::int64_t m, std::int64_t n,
                                             std::int64_t k, const void* alpha, const void* a, cudaDataType,
                                             std::int64_t lda, std::int64_t stride_a, const void* b, cudaDataType,
                                             std::int64_t ldb, std::int64_t stride_b, const void* beta, void* c,
                                             cudaDataType, std::int64_t ldc, std::int64_t stride_c, std::int64_t batch,
                                             cublasComputeType_t compute, cublasGemmAlgo_t) {
  using namespace onebit::device;
  if (*static_cast<const float*>(alpha) != 1.0f) return CUBLAS_STATUS_NOT_INITIALIZED;
  const GemmShape shape = shape_of(transpose_a, transpose_b, m, n, k, beta);
  const MatrixIn left{static_cast<const float*>(b), ldb, stride_b}, right{static_cast<const float*>(a), lda, stride_a};
  const MatrixOut out{static_cast<float*>(c), ldc, stride_c};
  if (!valid(shape, ldb, lda, ldc, batch)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!Operands{left.data, right.data, out.data}.aligned_to(sizeof(float))) return CUBLAS_STATUS_INVALID_VALUE;
  return status_of(
      onebit::emulator::enqueue(handle->stream, [=] { multiply(compute, shape, left, right, out, batch); }));
}

/// Reads the addresses of the matrices only when the product runs. The tensor cores' kernels, which it may choose
/// unless the mode is pedantic, read 16 bytes at a time: the GPU fails if a matrix begins elsewhere.
cublasStatus_t cublasGemmBatchedEx_64(cublasHandle_t handle, cublasOperation_t transpose_a,
                                      cublasOperation_t transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                                      const void* alpha, const void* const a[], cudaDataType, std::int64_t lda,
                                      const void* const b[], cudaDataType, std::int64_t ldb, const void* beta,
                                      void* const c[], cudaDataType, std::int64_t ldc, std::int64_t batch,
                                      cublasComputeType_t compute, cublasGemmAlgo_t) {
  using namespace onebit::device;
  if (*static_cast<const float*>(alpha) != 1.0f) return CUBLAS_STATUS_NOT_INITIALIZED;
  const GemmShape shape = shape_of(transpose_a, transpose_b, m, n, k, beta);
  if (!valid(shape, ldb, lda, ldc, batch)) return CUBLAS_STATUS_INVALID_VALUE;
  const std::uintptr_t alignment = compute == CUBLAS_COMPUTE_32F_PEDANTIC ? sizeof(float) : 16;
  return status_of(onebit::emulator::enqueue(handle->stream, [=, stream = handle->stream] {
    for (std::int64_t i = 0; i < batch; ++i) {
      const Operands at{static_cast<const float*>(b[i]), static_cast<const float*>(a[i]), static_cast<float*>(c[i])};
      if (!at.aligned_to(alignment)) return onebit::emulator::fail(stream, cudaErrorMisalignedAddress);
      multiply(compute, shape, {at.a, ldb}, {at.b, lda}, {at.c, ldc}, 1);
    }
  }));
}

namespace onebit::emulator {

CpuProducts::CpuProducts() {
  ++exact_users;
}

CpuProducts::~CpuProducts() {
  --exact_users;
}

}  // namespace onebit::emulator

namespace onebit::device::cuda {

const Blas& blas() {
  static const Blas table{.create = &cublasCreate,
                          .destroy = &cublasDestroy,
                          .set_stream = &cublasSetStream,
                          .set_workspace = &cublasSetWorkspace,
                          .gemm_strided = &cublasGemmStridedBatchedEx_64,
                          .gemm_scattered = &cublasGemmBatchedEx_64,
                          .status_string = &cublasGetStatusString};
  return table;
}

}  // namespace onebit::device::cuda
