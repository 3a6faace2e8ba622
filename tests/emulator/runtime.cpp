#include <atomic>

#include "tests/emulator/work.hpp"

namespace onebit::emulator {
namespace {

std::atomic<Index> drained = 0, launched = 0;
std::atomic<unsigned> most_together = unsigned{kProcessors * kBlocksPerProcessor};

thread_local int current = 0;
thread_local cudaError_t last = cudaSuccess;
thread_local std::vector<Graph*> recordings;  ///< those that this thread has begun

/// Reports an error if the stream is recording, and makes the recording invalid; for calls that cannot be recorded.
cudaError_t not_recorded(cudaStream_t stream) {
  if (stream->graph == nullptr) return cudaSuccess;
  stream->graph->valid = false;
  return report(cudaErrorStreamCaptureUnsupported);
}

/// Whether the sizes are within CUDA's limits.
bool is_launchable(dim3 grid, dim3 block) {
  const auto within = [](unsigned size, unsigned most) { return size >= 1 && size <= most; };
  return within(grid.x, 0x7FFFFFFF) && within(grid.y, 65535) && within(grid.z, 65535) && within(block.x, 1024) &&
         within(block.y, 1024) && within(block.z, 64) && block.x * block.y * block.z <= 1024;
}

/// Whether a kernel can start (need_memory_to_start()).
bool has_room_for_code(int ordinal) {
  Pool& pool = pool_of(ordinal);
  const std::lock_guard lock(pool.mutex);
  return pool.code <= pool.free();
}

/// Makes the host wait for the first `count` pieces of the stream's work.
cudaError_t wait_for(Stream& stream, std::uint64_t count) {
  if (stream.finish(count)) ++drained;
  return state_of(stream.gpu());
}

}  // namespace

cudaError_t report(cudaError_t status) {
  if (status != cudaSuccess) last = status;
  return status;
}

cudaError_t state_of(int ordinal) {
  return report(pool_of(ordinal).fault);
}

cudaError_t not_while_recording() {
  for (Graph* const graph : recordings) graph->valid = false;
  return report(recordings.empty() ? cudaSuccess : cudaErrorStreamCaptureUnsupported);
}

cudaError_t add(cudaStream_t stream, std::function<void()> work, bool keeps_busy) {
  if (const cudaError_t state = state_of(stream->gpu()); state != cudaSuccess) return state;
  if (stream->graph != nullptr) {
    if (!stream->graph->valid) return report(cudaErrorStreamCaptureInvalidated);
    stream->graph->work.push_back(std::move(work));
  } else {
    stream->add(std::move(work), keeps_busy);
  }
  return cudaSuccess;
}

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work) {
  if (!has_room_for_code(stream->gpu())) return report(cudaErrorMemoryAllocation);
  return add(stream, std::move(work));
}

cudaError_t enqueue_kernel(cudaStream_t stream, dim3 grid, dim3 block, std::function<void()> kernel, bool together) {
  if (stream->gpu() != current) return report(cudaErrorInvalidResourceHandle);
  if (!is_launchable(grid, block)) return report(cudaErrorInvalidConfiguration);
  if (!has_room_for_code(stream->gpu())) return report(cudaErrorMemoryAllocation);
  if (together && std::uint64_t{grid.x} * grid.y * grid.z > most_together) {
    return report(cudaErrorCooperativeLaunchTooLarge);
  }
  return add(stream, [grid, block, together, kernel = std::move(kernel)] { run_grid(grid, block, kernel, together); });
}

void set_memory(int ordinal, std::size_t bytes) {
  pool_of(ordinal).total = bytes;
}

Index drains() {
  return drained;
}

Index graph_launches() {
  return launched;
}

void lose(int ordinal, bool lost) {
  fail(ordinal, lost ? cudaErrorECCUncorrectable : cudaSuccess);
}

void fail(int ordinal, cudaError_t reason) {
  pool_of(ordinal).fault = reason;
}

void fail(cudaStream_t stream, cudaError_t reason) {
  fail(stream->gpu(), reason);
}

void set_blocks_together(int blocks) {
  most_together = static_cast<unsigned>(blocks);
}

}  // namespace onebit::emulator

using namespace onebit::emulator;

cudaError_t cudaGetDeviceCount(int* count) {
  *count = kGpus;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* ordinal) {
  *ordinal = current;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int ordinal) {
  if (!exists(ordinal)) return report(cudaErrorInvalidDevice);
  current = ordinal;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal) {
  if (!exists(ordinal)) return report(cudaErrorInvalidDevice);
  // Of the kind whose cuBLAS takes 4 MiB, not 32: all memory is protected and opened around every kernel.
  *properties = {"emulated GPU", pool_of(ordinal).total, 8, 6};
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int ordinal) {
  if (!exists(ordinal)) return report(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMaxPitch:
      *value = 1 << 20;  // small, because larger rectangles are copied row by row
      return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      *value = kProcessors;
      return cudaSuccess;
    case cudaDevAttrL2CacheSize:
      *value = 1 << 20;
      return cudaSuccess;
  }
  return report(cudaErrorInvalidValue);
}

cudaError_t cudaGetLastError() {
  return std::exchange(last, cudaSuccess);
}

const char* cudaGetErrorString(cudaError_t status) {
  switch (status) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorECCUncorrectable:
      return "uncorrectable ECC error encountered";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorMisalignedAddress:
      return "misaligned address";
    default:
      return "emulated error";
  }
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new Stream(current);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const cudaError_t status = cudaStreamSynchronize(stream);
  stream->destroy();
  return status;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (const cudaError_t status = not_recorded(stream); status != cudaSuccess) return status;
  return wait_for(*stream, stream->added());
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new Event{.gpu = current};
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (const cudaError_t status = not_recorded(stream); status != cudaSuccess) return status;
  if (event->gpu != stream->gpu()) return report(cudaErrorInvalidResourceHandle);
  if (const cudaError_t state = state_of(stream->gpu()); state != cudaSuccess) return state;
  event->stream = stream->share();
  event->place = stream->add([time = event->time] { *time = std::chrono::steady_clock::now(); }, false);
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (const cudaError_t status = not_while_recording(); status != cudaSuccess) return status;
  return wait_for(*event->stream, event->place + 1);
}

/// Makes the stream do the other stream's work up to the event, unless that has been done.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (const cudaError_t status = not_recorded(stream); status != cudaSuccess) return status;
  return add(
      stream, [other = event->stream, place = event->place] { other->finish(place + 1); }, false);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  *milliseconds = std::chrono::duration<float, std::milli>(*end->time - *start->time).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (const cudaError_t status = not_recorded(stream); status != cudaSuccess) return status;
  stream->graph = std::make_unique<Graph>(Graph{.gpu = stream->gpu()});
  recordings.push_back(stream->graph.get());
  return cudaSuccess;
}

/// Fails if the recording is invalid, or has not released all memory that it allocated: every run would allocate it
/// again.
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (stream->graph == nullptr) return report(cudaErrorInvalidValue);
  if (stream->graph->recorder != std::this_thread::get_id()) return report(cudaErrorStreamCaptureWrongThread);
  std::erase(recordings, stream->graph.get());
  const bool left_over = std::ranges::any_of(stream->graph->memory, &Graph::Memory::in_use);
  *graph = stream->graph.release();
  if ((*graph)->valid) return report(left_over ? cudaErrorInvalidValue : cudaSuccess);
  cudaGraphDestroy(std::exchange(*graph, nullptr));
  return report(cudaErrorStreamCaptureInvalidated);
}

/// Moves the graph's work and memory to the runnable graph.
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* runnable, cudaGraph_t graph, unsigned long long) {
  const auto release_all = [](const Graph* own) {
    for (const Graph::Memory& memory : own->memory) release(own->gpu, memory.data, true);
    delete own;
  };
  *runnable = new RunnableGraph{{new Graph(std::exchange(*graph, {})), release_all}};
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t runnable, cudaStream_t stream) {
  if (const cudaError_t status = not_recorded(stream); status != cudaSuccess) return status;
  ++launched;
  return add(stream, [graph = runnable->graph] {
    for (const auto& work : graph->work) work();
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  for (const Graph::Memory& memory : graph->memory) release(graph->gpu, memory.data, true);
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t runnable) {
  delete runnable;
  return cudaSuccess;
}
