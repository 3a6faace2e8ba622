#pragma once
// Status codes of CUDA and cuBLAS as errors.

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <typeinfo>

namespace onebit::device::cuda {

/// Throws unless the call succeeded: std::bad_alloc where it found no memory, else DeviceError with the call's name,
/// the reason and the GPU.
void check(cudaError_t status, const char* call);
void check(cublasStatus_t status, const char* call);

/// The same for the launch just made; the error names the kernel.
void check_launch(const std::type_info& kernel);

/// For destructors, which may not throw: forgets a failure, lest the next launch be blamed for it.
void ignore(cudaError_t status) noexcept;
void ignore(cublasStatus_t status) noexcept;

}  // namespace onebit::device::cuda
