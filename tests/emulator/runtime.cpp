#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>

#include "tests/emulator/stream.hpp"

namespace onebit::emulator {

/// Recorded work and the memory allocated in it. The memory is the same in every run, and nothing else uses it.
struct Graph {
  struct Memory {
    void* data = nullptr;
    std::size_t bytes = 0;
    bool in_use = true;  ///< whether it is allocated at this point of the recording
  };
  int gpu = 0;
  std::vector<std::function<void()>> work;
  std::vector<Memory> memory;
};

struct RunnableGraph {
  std::shared_ptr<const Graph> graph;
};

/// A stream and its work that has not been done yet. Streams that wait for each other may belong to different threads,
/// and any of these threads may do the work of any of the streams.
class Stream {
 public:
  explicit Stream(int gpu) : gpu_(gpu), self_(this) {}
  /// Releases the stream, which is deleted once no event refers to it.
  void destroy() { const std::shared_ptr<Stream> last = std::move(self_); }
  std::shared_ptr<Stream> share() const { return self_; }
  int gpu() const { return gpu_; }

  /// Appends a piece of work and returns its place in the stream. keeps_busy: false for work that only frees memory,
  /// records the time or waits for an event.
  std::uint64_t add(std::function<void()> run, bool keeps_busy) {
    const std::lock_guard lock(mutex_);
    work_.push_back({std::move(run), keeps_busy});
    return added_++;
  }
  /// Number of pieces of work appended so far.
  std::uint64_t added() {
    const std::lock_guard lock(mutex_);
    return added_;
  }

  /// The recording in progress; null if the stream does not record.
  std::unique_ptr<Graph> graph;

  /// Returns when the first `count` pieces of work are done, or all pieces if there are fewer. The result says whether
  /// this left a busy stream without work.
  bool finish(std::uint64_t count) {
    std::unique_lock lock(mutex_);
    count = std::min(count, added_);
    const bool was_busy = busy();
    while (done_ < count) {
      if (running_) {
        progress_.wait(lock);
      } else {
        do_first(lock);
      }
    }
    return was_busy && !busy();
  }

 private:
  struct Work {
    std::function<void()> run;
    bool keeps_busy;
  };

  bool busy() const {
    return std::any_of(work_.begin(), work_.end(), [](const Work& one) { return one.keeps_busy; });
  }
  void do_first(std::unique_lock<std::mutex>& lock) {
    const Work first = std::move(work_.front());
    work_.pop_front();
    running_ = true;
    lock.unlock();
    first.run();
    lock.lock();
    running_ = false;
    ++done_;
    progress_.notify_all();
  }

  int gpu_;
  std::shared_ptr<Stream> self_;
  std::mutex mutex_;
  std::condition_variable progress_;
  std::deque<Work> work_;
  std::uint64_t added_ = 0, done_ = 0;
  bool running_ = false;  ///< whether a thread is doing the next piece
};

using Time = std::chrono::steady_clock::time_point;

/// The stream in which the event was last recorded, and its place there.
struct Event {
  std::shared_ptr<Stream> stream;
  std::uint64_t place = 0;
  std::shared_ptr<Time> time = std::make_shared<Time>();
};

/// The memory of a GPU.
struct Pool {
  std::mutex mutex;
  std::size_t total = std::size_t{1} << 30, used = 0, peak = 0;
  std::size_t recorded = 0, recorded_peak = 0;  ///< bytes that graphs hold, and the most that they have held
  std::size_t kept = 0, kept_by_graphs = 0;     ///< unused bytes that can be trimmed
  std::size_t freed_last = 0;  ///< bytes still counted as used until the next allocation, because CUDA may count late
  std::size_t free() const { return total - std::min(used + recorded + kept + kept_by_graphs, total); }
  std::unordered_map<void*, std::size_t> blocks;
  std::atomic<cudaError_t> fault = cudaSuccess;
};

namespace {

constexpr int kGpus = 2;

std::array<Pool, kGpus> pools;
std::atomic<Index> drained = 0, launched = 0;
std::atomic<unsigned> most_together = unsigned{kProcessors * kBlocksPerProcessor};

thread_local int current = 0;
thread_local cudaError_t last = cudaSuccess;

cudaError_t report(cudaError_t status) {
  if (status != cudaSuccess) last = status;
  return status;
}

bool exists(int ordinal) {
  return ordinal >= 0 && ordinal < kGpus;
}

Pool& pool_of(int ordinal) {
  return pools[static_cast<std::size_t>(ordinal)];
}

cudaError_t state_of(int ordinal) {
  return report(pool_of(ordinal).fault);
}

/// Reports an error if the stream is recording; for calls that cannot be recorded.
cudaError_t not_recorded(cudaStream_t stream) {
  return report(stream->graph == nullptr ? cudaSuccess : cudaErrorStreamCaptureUnsupported);
}

/// Makes the host wait for the first `count` pieces of the stream's work.
cudaError_t wait_for(Stream& stream, std::uint64_t count) {
  if (stream.finish(count)) ++drained;
  return state_of(stream.gpu());
}

/// Adds work to a stream or to its recording. Fails if the GPU is lost.
cudaError_t add(cudaStream_t stream, std::function<void()> work, bool keeps_busy = true) {
  if (const cudaError_t state = state_of(stream->gpu()); state != cudaSuccess) return state;
  if (stream->graph != nullptr) {
    stream->graph->work.push_back(std::move(work));
  } else {
    stream->add(std::move(work), keeps_busy);
  }
  return cudaSuccess;
}

/// Fills memory that nothing has written to yet with NaN.
void spoil(void* data, std::size_t bytes) {
  std::memset(data, 0xFF, bytes);
}

void* take(Pool& pool, std::size_t bytes) {
  void* data = ::operator new (bytes, std::align_val_t{256});
  spoil(data, bytes);
  pool.blocks[data] = bytes;
  return data;
}

/// Records that the memory is spoiled at this point of every run of the graph.
void record_spoiling(Graph& graph, const Graph::Memory& memory) {
  graph.work.push_back([data = memory.data, bytes = memory.bytes] { spoil(data, bytes); });
}

void copy_rows(void* target, std::size_t target_pitch, const void* source, std::size_t source_pitch, std::size_t width,
               std::size_t rows) {
  for (std::size_t row = 0; row < rows; ++row) {
    std::memcpy(static_cast<char*>(target) + row * target_pitch, static_cast<const char*>(source) + row * source_pitch,
                width);
  }
}

void release(int gpu, void* data, bool recorded = false) {
  Pool& pool = pool_of(gpu);
  const std::lock_guard lock(pool.mutex);
  const auto block = pool.blocks.find(data);
  if (block == pool.blocks.end()) std::abort();
  (recorded ? pool.recorded : pool.used) -= block->second;
  if (!recorded) pool.freed_last = block->second;
  pool.blocks.erase(block);
  ::operator delete (data, std::align_val_t{256});
}

}  // namespace

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work) {
  return add(stream, std::move(work));
}

cudaError_t enqueue_kernel(cudaStream_t stream, dim3 grid, dim3 block, std::function<void()> kernel, bool together) {
  if (together && grid.x * grid.y * grid.z > most_together) return report(cudaErrorCooperativeLaunchTooLarge);
  if (grid.x * grid.y * grid.z == 0 || block.x * block.y * block.z == 0 || block.x * block.y * block.z > 1024) {
    return report(cudaErrorInvalidValue);
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

void keep_unused(int ordinal, std::size_t in_pool, std::size_t by_graphs) {
  Pool& pool = pool_of(ordinal);
  const std::lock_guard lock(pool.mutex);
  pool.kept = in_pool;
  pool.kept_by_graphs = by_graphs;
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
  *properties = {"emulated GPU", pool_of(ordinal).total, 9, 0};
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
  *event = new Event;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (const cudaError_t status = not_recorded(stream); status != cudaSuccess) return status;
  if (const cudaError_t state = state_of(stream->gpu()); state != cudaSuccess) return state;
  event->stream = stream->share();
  event->place = stream->add([time = event->time] { *time = std::chrono::steady_clock::now(); }, false);
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
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
  return cudaSuccess;
}

/// Fails if the recording has not released all memory that it allocated: every run would allocate it again.
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (stream->graph == nullptr) return report(cudaErrorInvalidValue);
  const bool left_over = std::ranges::any_of(stream->graph->memory, &Graph::Memory::in_use);
  *graph = stream->graph.release();
  return report(left_over ? cudaErrorInvalidValue : cudaSuccess);
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

cudaError_t cudaMallocHost(void** data, std::size_t bytes) {
  *data = ::operator new (bytes, std::align_val_t{64});
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* data) {
  ::operator delete (data, std::align_val_t{64});
  return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int ordinal) {
  if (!exists(ordinal)) return report(cudaErrorInvalidDevice);
  *pool = &pool_of(ordinal);
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t least) {
  const std::lock_guard lock(pool->mutex);
  pool->kept = std::min(pool->kept, least);
  return cudaSuccess;
}

cudaError_t cudaDeviceGraphMemTrim(int ordinal) {
  if (!exists(ordinal)) return report(cudaErrorInvalidDevice);
  Pool& pool = pool_of(ordinal);
  const std::lock_guard lock(pool.mutex);
  pool.kept_by_graphs = 0;
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const std::lock_guard lock(pool->mutex);
  const std::uint64_t used = pool->used + pool->freed_last;
  const std::uint64_t number = attribute == cudaMemPoolAttrReservedMemHigh      ? pool->peak
                               : attribute == cudaMemPoolAttrReservedMemCurrent ? used + pool->kept
                                                                                : used;
  std::memcpy(value, &number, sizeof number);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetGraphMemAttribute(int ordinal, cudaGraphMemAttributeType attribute, void* value) {
  if (!exists(ordinal)) return report(cudaErrorInvalidDevice);
  Pool& pool = pool_of(ordinal);
  const std::lock_guard lock(pool.mutex);
  const std::uint64_t number = attribute == cudaGraphMemAttrReservedMemHigh ? pool.recorded_peak : pool.recorded;
  std::memcpy(value, &number, sizeof number);
  return cudaSuccess;
}

/// The second GPU can read the first one's memory directly, but not the other way round.
cudaError_t cudaDeviceCanAccessPeer(int* can, int gpu, int other) {
  if (!exists(gpu) || !exists(other)) return report(cudaErrorInvalidDevice);
  *can = gpu > other ? 1 : 0;
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    const int gpu = access[k].location.id;
    if (!exists(gpu) || &pool_of(gpu) <= pool) return report(cudaErrorInvalidDevice);
  }
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  if (const cudaError_t state = state_of(current); state != cudaSuccess) return state;
  Pool& pool = pool_of(current);
  const std::lock_guard lock(pool.mutex);
  *total = pool.total;
  *free = pool.free();
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** data, std::size_t bytes, cudaStream_t stream) {
  if (const cudaError_t state = state_of(stream->gpu()); state != cudaSuccess) return state;
  Pool& pool = pool_of(stream->gpu());
  const std::lock_guard lock(pool.mutex);
  if (bytes > pool.free()) return report(cudaErrorMemoryAllocation);
  *data = take(pool, bytes);
  pool.freed_last = 0;
  if (Graph* graph = stream->graph.get()) {
    graph->memory.push_back({*data, bytes});
    record_spoiling(*graph, graph->memory.back());
    pool.recorded += bytes;
    pool.recorded_peak = std::max(pool.recorded_peak, pool.recorded);
  } else {
    pool.used += bytes;
    pool.peak = std::max(pool.peak, pool.used);
  }
  return cudaSuccess;
}

/// Works on a lost GPU too, because buffers are released after the error.
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
  if (Graph* graph = stream->graph.get()) {
    const auto memory = std::ranges::find(graph->memory, data, &Graph::Memory::data);
    if (memory == graph->memory.end() || !memory->in_use) std::abort();  // every run would free it again
    memory->in_use = false;
    record_spoiling(*graph, *memory);
    return state_of(stream->gpu());
  }
  stream->add([gpu = stream->gpu(), data] { release(gpu, data); }, false);
  return state_of(stream->gpu());
}

cudaError_t cudaMemsetAsync(void* target, int byte, std::size_t bytes, cudaStream_t stream) {
  return add(stream, [=] { std::memset(target, byte, bytes); });
}

cudaError_t cudaMemset2DAsync(void* target, std::size_t pitch, int byte, std::size_t width, std::size_t rows,
                              cudaStream_t stream) {
  return add(stream, [=] {
    for (std::size_t row = 0; row < rows; ++row) std::memset(static_cast<char*>(target) + row * pitch, byte, width);
  });
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return add(stream, [=] { std::memcpy(target, source, bytes); });
}

cudaError_t cudaMemcpy2DAsync(void* target, std::size_t target_pitch, const void* source, std::size_t source_pitch,
                              std::size_t width, std::size_t rows, cudaMemcpyKind, cudaStream_t stream) {
  return add(stream, [=] { copy_rows(target, target_pitch, source, source_pitch, width, rows); });
}

cudaError_t cudaMemcpyPeerAsync(void* target, int, const void* source, int, std::size_t bytes, cudaStream_t stream) {
  return add(stream, [=] { std::memcpy(target, source, bytes); });
}
