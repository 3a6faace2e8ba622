#include "device/cuda/check.hpp"

#include <new>
#include <string>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "device/cuda/blas.hpp"

namespace onebit::device::cuda {
namespace {

std::string current_gpu() {
  int ordinal = 0;
  return cudaGetDevice(&ordinal) == cudaSuccess ? "cuda:" + std::to_string(ordinal) : "cuda";
}

/// What the user can do about an error. Most errors of kernels surface at a later call.
const char* hint(cudaError_t status) {
  if (status >= cudaErrorStreamCaptureUnsupported && status <= cudaErrorStreamCaptureWrongThread) {
    return "--graphs false turns off the recording of launches";
  }
  switch (status) {
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return "build for this GPU: -DCMAKE_CUDA_ARCHITECTURES=native";
    case cudaErrorDevicesUnavailable:
      return "another program has exclusive use of the GPU";
    case cudaErrorECCUncorrectable:
      return "the GPU's memory is faulty; nvidia-smi -q shows its error counts";
    default:
      return "an earlier kernel may have caused this; CUDA_LAUNCH_BLOCKING=1 shows which";
  }
}

[[noreturn]] void fail(cudaError_t status, const std::string& call, const std::string& kernel) {
  cudaGetLastError();  // clears the error, so that a later launch is not blamed
  if (status == cudaErrorMemoryAllocation) throw std::bad_alloc();
  throw DeviceError("CUDA call failed: " + call + ": " + cudaGetErrorString(status),
                    current_gpu() + (kernel.empty() ? "" : ", " + kernel), hint(status));
}

}  // namespace

void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) fail(status, call, "");
}

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  cudaGetLastError();
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw std::bad_alloc();
  throw DeviceError("cuBLAS call failed: " + std::string(call) + ": " + blas().status_string(status), current_gpu());
}

void check_launch(const std::type_info& kernel) {
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) fail(status, "launch", readable_type(kernel));
}

void ignore(cudaError_t status) noexcept {
  if (status != cudaSuccess) cudaGetLastError();
}

void ignore(cublasStatus_t status) noexcept {
  if (status != CUBLAS_STATUS_SUCCESS) cudaGetLastError();
}

}  // namespace onebit::device::cuda
