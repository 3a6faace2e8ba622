#include "device/cuda/check.hpp"

#include <atomic>
#include <new>
#include <string>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "device/cuda/blas.hpp"

namespace onebit::device::cuda {
namespace {

constexpr const char* kNoGraphs = "--graphs false turns off the recording of launches";

std::atomic<int> graphs_in_use = 0;

std::string current_gpu() {
  int ordinal = 0;
  return cudaGetDevice(&ordinal) == cudaSuccess ? "cuda:" + std::to_string(ordinal) : "cuda";
}

/// What the user can do about an error of an earlier kernel, which may surface at any later call. A graph's kernels
/// cannot be told apart.
const char* hint_for_kernels() {
  return graphs_in_use > 0
             ? "an earlier kernel may have caused this; CUDA_LAUNCH_BLOCKING=1 with --graphs false shows which"
             : "an earlier kernel may have caused this; CUDA_LAUNCH_BLOCKING=1 shows which";
}

/// What the user can do about an error.
const char* hint(cudaError_t status) {
  if (status >= cudaErrorStreamCaptureUnsupported && status <= cudaErrorStreamCaptureWrongThread) {
    return kNoGraphs;
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
      return hint_for_kernels();
  }
}

[[noreturn]] void fail(cudaError_t status, const std::string& call, const std::string& kernel) {
  cudaGetLastError();  // clears the error, so that a later launch is not blamed for it
  if (lacks_memory(status)) throw std::bad_alloc();
  throw DeviceError("CUDA call failed: " + call + ": " + cudaGetErrorString(status),
                    current_gpu() + (kernel.empty() ? "" : ", " + kernel), hint(status));
}

/// The CUDA error that made a call to cuBLAS fail, if it is known. cuBLAS has its own copy of CUDA's runtime, so its
/// last error is not ours; but after a kernel's error every call fails, including the query for free memory.
cudaError_t reason_inside_blas() {
  std::size_t free = 0, total = 0;
  const cudaError_t last = cudaGetLastError();
  const cudaError_t now = cudaMemGetInfo(&free, &total);
  ignore(now);
  return last == cudaSuccess ? now : last;
}

}  // namespace

void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) fail(status, call, "");
}

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const cudaError_t inner = reason_inside_blas();
  if (lacks_memory(status) || lacks_memory(inner)) throw std::bad_alloc();
  std::string reason = blas().status_string(status);
  if (inner != cudaSuccess) reason += std::string(": ") + cudaGetErrorString(inner);
  const char* advice = inner != cudaSuccess ? hint(inner) : graphs_in_use > 0 ? kNoGraphs : "";
  throw DeviceError("cuBLAS call failed: " + std::string(call) + ": " + reason, current_gpu(), advice);
}

void check(cudaError_t status, const std::type_info& kernel) {
  if (status != cudaSuccess) fail(status, "launch", readable_type(kernel));
}

GraphsInUse::GraphsInUse() noexcept {
  ++graphs_in_use;
}

GraphsInUse::~GraphsInUse() {
  --graphs_in_use;
}

void ignore(cudaError_t status) noexcept {
  if (status != cudaSuccess) cudaGetLastError();
}

void ignore(cublasStatus_t status) noexcept {
  if (status != CUBLAS_STATUS_SUCCESS) cudaGetLastError();
}

}  // namespace onebit::device::cuda
