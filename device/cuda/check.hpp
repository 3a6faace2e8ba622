#pragma once
// Turns status codes of CUDA and cuBLAS into exceptions.

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <typeinfo>

namespace onebit::device::cuda {

/// Throws unless the call succeeded: std::bad_alloc if there was not enough memory, else DeviceError with the call's
/// name, the GPU and CUDA's reason. If a call to cuBLAS failed, the error states cuBLAS's reason, and also CUDA's if
/// the GPU has failed.
void check(cudaError_t status, const char* call);
void check(cublasStatus_t status, const char* call);

/// Throws the same exceptions if the launch of a kernel failed; the error names the kernel.
void check(cudaError_t status, const std::type_info& kernel);

/// Whether a call failed because there was not enough memory.
inline bool lacks_memory(cudaError_t status) {
  return status == cudaErrorMemoryAllocation;
}
inline bool lacks_memory(cublasStatus_t status) {
  return status == CUBLAS_STATUS_ALLOC_FAILED;
}

/// Exists while launches are recorded or can be replayed. Messages of errors that occur during that time name the
/// option that turns this off.
class GraphsInUse {
 public:
  GraphsInUse() noexcept;
  ~GraphsInUse();
  GraphsInUse(const GraphsInUse&) = delete;
  GraphsInUse& operator=(const GraphsInUse&) = delete;
};

/// Clears a failure, so that the next launch is not blamed for it. For destructors, which may not throw.
void ignore(cudaError_t status) noexcept;
void ignore(cublasStatus_t status) noexcept;

}  // namespace onebit::device::cuda
