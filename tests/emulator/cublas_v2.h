#pragma once
// The part of cuBLAS that the backend uses. The CPU backend computes the products (tests/emulator/blas.cpp).

#include <cstdint>

#include "cuda_runtime_api.h"

#define CUBLAS_VER_MAJOR 13

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_EXECUTION_FAILED = 13
};
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cublasComputeType_t {
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 };
enum cudaDataType { CUDA_R_32F = 0 };

struct EmulatedBlas;
using cublasHandle_t = EmulatedBlas*;

cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, std::size_t bytes);
const char* cublasGetStatusString(cublasStatus_t status);
cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t handle, cublasOperation_t transpose_a,
                                             cublasOperation_t transpose_b, std::int64_t m, std::int64_t n,
                                             std::int64_t k, const void* alpha, const void* a, cudaDataType,
                                             std::int64_t lda, std::int64_t stride_a, const void* b, cudaDataType,
                                             std::int64_t ldb, std::int64_t stride_b, const void* beta, void* c,
                                             cudaDataType, std::int64_t ldc, std::int64_t stride_c, std::int64_t batch,
                                             cublasComputeType_t compute, cublasGemmAlgo_t);
cublasStatus_t cublasGemmBatchedEx_64(cublasHandle_t handle, cublasOperation_t transpose_a,
                                      cublasOperation_t transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                                      const void* alpha, const void* const a[], cudaDataType, std::int64_t lda,
                                      const void* const b[], cudaDataType, std::int64_t ldb, const void* beta,
                                      void* const c[], cudaDataType, std::int64_t ldc, std::int64_t batch,
                                      cublasComputeType_t compute, cublasGemmAlgo_t);
