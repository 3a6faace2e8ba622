#pragma once
// The part of CUDA's runtime that the backend uses, for builds with ONEBIT_CUDA=EMULATED: device/cuda is compiled by
// the C++ compiler, GPUs are memory of this process, and a stream does its work when something waits for it. Only for
// tests.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>

#include "tests/emulator/block.hpp"

#define CUDART_VERSION 13000

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorDevicesUnavailable = 46,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorECCUncorrectable = 214,
  cudaErrorUnsupportedPtxVersion = 222,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorIllegalAddress = 700,
  cudaErrorMisalignedAddress = 716,
  cudaErrorCooperativeLaunchTooLarge = 720,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureWrongThread = 908
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum cudaDeviceAttr { cudaDevAttrMaxPitch = 11, cudaDevAttrMultiProcessorCount = 16, cudaDevAttrL2CacheSize = 38 };
enum cudaMemPoolAttr {
  cudaMemPoolAttrReleaseThreshold = 4,
  cudaMemPoolAttrReservedMemCurrent = 5,
  cudaMemPoolAttrReservedMemHigh = 6,
  cudaMemPoolAttrUsedMemCurrent = 7
};
enum cudaGraphMemAttributeType { cudaGraphMemAttrReservedMemCurrent = 2, cudaGraphMemAttrReservedMemHigh = 3 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
inline constexpr unsigned cudaStreamNonBlocking = 1;
inline constexpr unsigned cudaEventDefault = 0, cudaEventDisableTiming = 2;

struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem;
  int major, minor;
};

enum cudaMemLocationType { cudaMemLocationTypeDevice = 1 };
enum cudaMemAccessFlags { cudaMemAccessFlagsProtReadWrite = 3 };
struct cudaMemAccessDesc {
  struct {
    cudaMemLocationType type;
    int id;
  } location;
  cudaMemAccessFlags flags;
};

namespace onebit::emulator {
inline constexpr int kProcessors = 3, kBlocksPerProcessor = 2;
class Stream;
struct Pool;
struct Event;
struct Graph;
struct RunnableGraph;
/// Appends a kernel, bound to its arguments, to the stream's work. together: its blocks may wait for each other.
cudaError_t enqueue_kernel(Stream* stream, dim3 grid, dim3 block, std::function<void()> kernel, bool together);
}  // namespace onebit::emulator

using cudaStream_t = onebit::emulator::Stream*;
using cudaEvent_t = onebit::emulator::Event*;
using cudaMemPool_t = onebit::emulator::Pool*;
using cudaGraph_t = onebit::emulator::Graph*;
using cudaGraphExec_t = onebit::emulator::RunnableGraph*;

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaGetDevice(int* ordinal);
cudaError_t cudaSetDevice(int ordinal);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int ordinal);
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t status);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);

/// Begins a recording of the stream's work: kernels, fills, copies, allocations and releases. Until
/// cudaStreamEndCapture(), any other call for the stream makes the recording invalid, and so does a call of this thread
/// that waits for an event, or allocates or releases pinned memory.
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* runnable, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t runnable, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t runnable);
cudaError_t cudaDeviceGetGraphMemAttribute(int ordinal, cudaGraphMemAttributeType attribute, void* value);

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

cudaError_t cudaMallocHost(void** data, std::size_t bytes);
cudaError_t cudaFreeHost(void* data);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int ordinal);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t least);
cudaError_t cudaDeviceGraphMemTrim(int ordinal);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, std::size_t count);
cudaError_t cudaDeviceCanAccessPeer(int* can, int gpu, int other);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaMallocAsync(void** data, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* target, int byte, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaMemset2DAsync(void* target, std::size_t pitch, int byte, std::size_t width, std::size_t rows,
                              cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync(void* target, std::size_t target_pitch, const void* source, std::size_t source_pitch,
                              std::size_t width, std::size_t rows, cudaMemcpyKind, cudaStream_t stream);
cudaError_t cudaMemcpyPeerAsync(void* target, int to, const void* source, int from, std::size_t bytes,
                                cudaStream_t stream);

namespace onebit::emulator {
/// Binds a kernel to its arguments, which are given by their addresses and copied at once.
template <class... Parameters>
std::function<void()> bind(void (*kernel)(Parameters...), void** arguments) {
  auto bound = [&]<std::size_t... k>(std::index_sequence<k...>) {
    return std::tuple<Parameters...>(*static_cast<Parameters*>(arguments[k])...);
  }
  (std::index_sequence_for<Parameters...>{});
  return [kernel, bound = std::move(bound)] { std::apply(kernel, bound); };
}
}  // namespace onebit::emulator

template <class... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments, std::size_t,
                             cudaStream_t stream) {
  return onebit::emulator::enqueue_kernel(stream, grid, block, onebit::emulator::bind(kernel, arguments), false);
}
template <class... Parameters>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                                        std::size_t, cudaStream_t stream) {
  return onebit::emulator::enqueue_kernel(stream, grid, block, onebit::emulator::bind(kernel, arguments), true);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel, int, std::size_t) {
  *blocks = onebit::emulator::kBlocksPerProcessor;
  return cudaSuccess;
}
