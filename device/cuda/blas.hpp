#pragma once
// cuBLAS, loaded when the first GPU is opened. If it were linked, its libraries would cost every program 0.2 s and 200
// MB, even one that uses no GPU.

#include <cublas_v2.h>

namespace onebit::device::cuda {

/// The cuBLAS functions that the backend calls.
struct Blas {
  decltype(&cublasCreate) create;
  decltype(&cublasDestroy) destroy;
  decltype(&cublasSetStream) set_stream;
  decltype(&cublasSetWorkspace) set_workspace;
  decltype(&cublasGemmStridedBatchedEx_64) gemm_strided;
  decltype(&cublasGemmBatchedEx_64) gemm_scattered;
  decltype(&cublasGetStatusString) status_string;
};

/// The loaded functions (of the library that open_blas_library() finds). Throws Error if the library or one of the
/// functions is missing.
const Blas& blas();

}  // namespace onebit::device::cuda
