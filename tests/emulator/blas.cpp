// cuBLAS of emulated GPUs: the CPU's products, in the order of the stream.

#include "device/cuda/blas.hpp"

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

/// Does nothing, because the CPU's products need no workspace.
cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "emulated failure";
}

namespace {

onebit::device::Precision precision_of(cublasComputeType_t compute) {
  using onebit::device::Precision;
  if (compute == CUBLAS_COMPUTE_32F_FAST_TF32) return Precision::tf32;
  return compute == CUBLAS_COMPUTE_32F_FAST_16BF ? Precision::bf16 : Precision::fp32;
}

/// cuBLAS stores columns and we store rows: C' = op(B)' op(A)'.
onebit::device::GemmShape shape_of(cublasOperation_t transpose_a, cublasOperation_t transpose_b, std::int64_t m,
                                   std::int64_t n, std::int64_t k, const void* beta) {
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

}  // namespace

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
  onebit::emulator::enqueue(handle->stream,
                            [=] { cpu::gemm_batched(queue_of(compute), shape, left, right, out, batch); });
  return CUBLAS_STATUS_SUCCESS;
}

/// The pointers to the matrices are read only when the product runs.
cublasStatus_t cublasGemmBatchedEx_64(cublasHandle_t handle, cublasOperation_t transpose_a,
                                      cublasOperation_t transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                                      const void* alpha, const void* const a[], cudaDataType, std::int64_t lda,
                                      const void* const b[], cudaDataType, std::int64_t ldb, const void* beta,
                                      void* const c[], cudaDataType, std::int64_t ldc, std::int64_t batch,
                                      cublasComputeType_t compute, cublasGemmAlgo_t) {
  using namespace onebit::device;
  if (*static_cast<const float*>(alpha) != 1.0f) return CUBLAS_STATUS_NOT_INITIALIZED;
  const GemmShape shape = shape_of(transpose_a, transpose_b, m, n, k, beta);
  onebit::emulator::enqueue(handle->stream, [=] {
    const cpu::Queue queue = queue_of(compute);
    for (std::int64_t i = 0; i < batch; ++i) {
      cpu::gemm_batched(queue, shape, {static_cast<const float*>(b[i]), ldb}, {static_cast<const float*>(a[i]), lda},
                        {static_cast<float*>(c[i]), ldc}, 1);
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}

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
