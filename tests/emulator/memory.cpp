// The emulated runtime's memory: allocations and copies.

#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/emulator/work.hpp"

using namespace onebit::emulator;

namespace {

/// Records that the memory is spoiled at this point of every run of the graph.
void record_spoiling(Graph& graph, const Graph::Memory& memory) {
  graph.work.push_back([data = memory.data, bytes = memory.bytes] { spoil(data, bytes); });
}

/// Rows of bytes, a pitch apart.
struct Rectangle {
  std::size_t pitch = 0, width = 0, rows = 1;
  std::size_t bytes() const { return rows == 0 ? 0 : (rows - 1) * pitch + width; }
};

/// Adds work that writes the target. Fails unless the target is memory of the stream's GPU.
cudaError_t add_fill(void* target, std::size_t bytes, cudaStream_t stream, std::function<void()> work) {
  if (!pool_of(stream->gpu()).holds(target, bytes)) return report(cudaErrorInvalidValue);
  return add(stream, std::move(work));
}

/// Adds work that copies. Fails unless each side is memory of the stream's GPU or of the host, as the kind says.
cudaError_t add_copy(const void* target, std::size_t target_bytes, const void* source, std::size_t source_bytes,
                     cudaMemcpyKind kind, cudaStream_t stream, std::function<void()> work) {
  const auto is = [stream](bool on_gpu, const void* data, std::size_t bytes) {
    return on_gpu ? pool_of(stream->gpu()).holds(data, bytes) : is_host_memory(data, bytes);
  };
  if (!is(kind != cudaMemcpyDeviceToHost, target, target_bytes) ||
      !is(kind != cudaMemcpyHostToDevice, source, source_bytes)) {
    return report(cudaErrorInvalidValue);
  }
  return add(stream, std::move(work));
}

void copy_rows(void* target, const Rectangle& to, const void* source, const Rectangle& from) {
  for (std::size_t row = 0; row < to.rows; ++row) {
    std::memcpy(static_cast<char*>(target) + row * to.pitch, static_cast<const char*>(source) + row * from.pitch,
                to.width);
  }
}

}  // namespace

cudaError_t cudaMallocHost(void** data, std::size_t bytes) {
  if (const cudaError_t status = not_while_recording(); status != cudaSuccess) return status;
  if (allocation_fails()) return report(cudaErrorMemoryAllocation);
  *data = ::operator new (bytes, std::align_val_t{64});
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* data) {
  if (const cudaError_t status = not_while_recording(); status != cudaSuccess) return status;
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
  int ordinal = 0;
  cudaGetDevice(&ordinal);
  if (const cudaError_t state = state_of(ordinal); state != cudaSuccess) return state;
  Pool& pool = pool_of(ordinal);
  const std::lock_guard lock(pool.mutex);
  *total = pool.total;
  *free = pool.free();
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** data, std::size_t bytes, cudaStream_t stream) {
  if (const cudaError_t state = state_of(stream->gpu()); state != cudaSuccess) return state;
  if (allocation_fails()) return report(cudaErrorMemoryAllocation);
  Pool& pool = pool_of(stream->gpu());
  const std::lock_guard lock(pool.mutex);
  if (bytes > pool.free()) return report(cudaErrorMemoryAllocation);
  *data = pool.take(bytes);
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
  return add_fill(target, bytes, stream, [=] { std::memset(target, byte, bytes); });
}

cudaError_t cudaMemset2DAsync(void* target, std::size_t pitch, int byte, std::size_t width, std::size_t rows,
                              cudaStream_t stream) {
  return add_fill(target, Rectangle{pitch, width, rows}.bytes(), stream, [=] {
    for (std::size_t row = 0; row < rows; ++row) std::memset(static_cast<char*>(target) + row * pitch, byte, width);
  });
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return add_copy(target, bytes, source, bytes, kind, stream, [=] { std::memcpy(target, source, bytes); });
}

cudaError_t cudaMemcpy2DAsync(void* target, std::size_t target_pitch, const void* source, std::size_t source_pitch,
                              std::size_t width, std::size_t rows, cudaMemcpyKind kind, cudaStream_t stream) {
  const Rectangle to{target_pitch, width, rows}, from{source_pitch, width, rows};
  return add_copy(target, to.bytes(), source, from.bytes(), kind, stream, [=] { copy_rows(target, to, source, from); });
}

cudaError_t cudaMemcpyPeerAsync(void* target, int to, const void* source, int from, std::size_t bytes,
                                cudaStream_t stream) {
  if (!exists(to) || !exists(from)) return report(cudaErrorInvalidDevice);
  if (!pool_of(to).holds(target, bytes) || !pool_of(from).holds(source, bytes)) return report(cudaErrorInvalidValue);
  return add(stream, [=] {
    const onebit::device::debug::Access target_access(&pool_of(to).pages), source_access(&pool_of(from).pages);
    std::memcpy(target, source, bytes);
  });
}
