#pragma once
// Turns status codes of CUDA and cuBLAS into exceptions.

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <typeinfo>

namespace onebit::device::cuda {

/// Throws unless the call succeeded: std::bad_alloc if there was not enough memory, else DeviceError with the call's
/// name, the reason and the GPU.
void check(cudaError_t status, const char* call);
void check(cublasStatus_t status, const char* call);

/// Throws like check() for the launch just made; the error names the kernel.
void check_launch(const std::type_info& kernel);

/// Clears a failure, so that the next launch is not blamed for it. For destructors, which may not throw.
void ignore(cudaError_t status) noexcept;
void ignore(cublasStatus_t status) noexcept;

}  // namespace onebit::device::cuda
