// GPU memory from the driver's pool: allocated and freed in the order of the queue's stream, so that a buffer may be
// released while kernels that use it have yet to run.

#include <algorithm>
#include <limits>
#include <set>

#include "device/cuda/context.cuh"

namespace onebit::device::cuda {
namespace {

std::size_t wide(Index bytes) {
  return static_cast<std::size_t>(bytes);
}

/// A slot of the pinned pool that a copy in the stream fills.
class GpuCopy final : public AsyncCopy {
 public:
  GpuCopy(std::shared_ptr<Context> context, const void* source, Index bytes) : GpuCopy(std::move(context), bytes) {
    check(cudaMemcpyAsync(slot_.memory, source, wide(bytes), cudaMemcpyDeviceToHost, context_->stream()),
          "cudaMemcpyAsync");
    check(cudaEventRecord(slot_.arrived, context_->stream()), "cudaEventRecord");
  }
  ~GpuCopy() override { context_->pinned().give_back(slot_); }
  GpuCopy(const GpuCopy&) = delete;
  GpuCopy& operator=(const GpuCopy&) = delete;

  const void* wait() const override {
    if (there_) return slot_.memory;
    context_->make_current();
    check(cudaEventSynchronize(slot_.arrived), "cudaEventSynchronize");
    there_ = true;
    return slot_.memory;
  }

 private:
  GpuCopy(std::shared_ptr<Context> context, Index bytes)
      : context_(std::move(context)), slot_(context_->pinned().take(bytes)) {}

  std::shared_ptr<Context> context_;
  PinnedPool::Slot slot_;
  mutable bool there_ = false;
};

/// Makes the pool keep freed memory for the next buffer, instead of returning it to the system at every
/// synchronisation.
void keep_freed_memory(int ordinal) {
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, ordinal), "cudaDeviceGetDefaultMemPool");
  auto threshold = std::numeric_limits<std::uint64_t>::max();
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold), "cudaMemPoolSetAttribute");
}

/// Whether a block is contiguous: rows without gaps, or a single row, whose pitch is irrelevant.
bool is_one_run(const Block& block) {
  return block.rows == 1 || block.pitch == block.width;
}

std::byte* row_of(const Block& block, Index row) {
  return static_cast<std::byte*>(block.data) + row * block.pitch;
}

class GpuMemory final : public Memory {
 public:
  explicit GpuMemory(std::shared_ptr<Context> context);

  void* allocate(Index bytes) override;
  void release(void* data) noexcept override;
  MemoryUse use() const override;
  Index available() const override;
  void fill(void* target, int byte, Index bytes) override;
  void upload(void* target, const void* source, Index bytes) override;
  void download(void* target, const void* source, Index bytes) override;
  std::shared_ptr<const AsyncCopy> fetch(const void* source, Index bytes) override;
  void copy(const Block& target, Memory& from, const Block& source) override;

 private:
  void copy_run(void* target, const Context& from, const void* source, Index bytes);
  void reach(int other);

  std::shared_ptr<Context> context_;
  Index allocations_ = 0;
  std::set<int> reached_;  ///< GPUs for which reach() has set up access, if the machine allows it
  Index most_pitch_;       ///< largest pitch of a rectangle that CUDA copies in one call
};

GpuMemory::GpuMemory(std::shared_ptr<Context> context) : context_(std::move(context)) {
  context_->make_current();
  keep_freed_memory(context_->ordinal());
  int pitch = 0;
  check(cudaDeviceGetAttribute(&pitch, cudaDevAttrMaxPitch, context_->ordinal()), "cudaDeviceGetAttribute");
  most_pitch_ = pitch;
}

/// An empty buffer has an address too, as on the CPU.
void* GpuMemory::allocate(Index bytes) {
  context_->make_current();
  ++allocations_;
  return context_->allocate(std::max<Index>(bytes, 1));
}

void GpuMemory::release(void* data) noexcept {
  ignore(cudaSetDevice(context_->ordinal()));
  ignore(cudaFreeAsync(data, context_->stream()));
}

/// Returns the memory of the pool and of the buffers allocated in recordings; all queues of this GPU share both.
MemoryUse GpuMemory::use() const {
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, context_->ordinal()), "cudaDeviceGetDefaultMemPool");
  const auto of_recordings = [this](cudaGraphMemAttributeType name) {
    std::uint64_t value = 0;
    check(cudaDeviceGetGraphMemAttribute(context_->ordinal(), name, &value), "cudaDeviceGetGraphMemAttribute");
    return static_cast<Index>(value);
  };
  const auto attribute = [pool](cudaMemPoolAttr name) {
    std::uint64_t value = 0;
    check(cudaMemPoolGetAttribute(pool, name, &value), "cudaMemPoolGetAttribute");
    return static_cast<Index>(value);
  };
  const Index recorded = of_recordings(cudaGraphMemAttrReservedMemCurrent);
  return {.used = attribute(cudaMemPoolAttrUsedMemCurrent) + recorded,
          .held = attribute(cudaMemPoolAttrReservedMemCurrent) + recorded,
          .peak = attribute(cudaMemPoolAttrReservedMemHigh) + of_recordings(cudaGraphMemAttrReservedMemHigh),
          .allocations = allocations_};
}

Index GpuMemory::available() const {
  context_->make_current();
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return static_cast<Index>(free) + use().held - use().used;
}

void GpuMemory::fill(void* target, int byte, Index bytes) {
  if (bytes == 0) return;
  context_->make_current();
  check(cudaMemsetAsync(target, byte, wide(bytes), context_->stream()), "cudaMemsetAsync");
}

void GpuMemory::upload(void* target, const void* source, Index bytes) {
  if (bytes == 0) return;
  context_->make_current();
  context_->staging().upload(target, source, bytes, context_->stream());
}

void GpuMemory::download(void* target, const void* source, Index bytes) {
  if (bytes == 0) return;
  context_->make_current();
  check(cudaMemcpyAsync(target, source, wide(bytes), cudaMemcpyDeviceToHost, context_->stream()), "cudaMemcpyAsync");
  check(cudaStreamSynchronize(context_->stream()), "cudaStreamSynchronize");
}

std::shared_ptr<const AsyncCopy> GpuMemory::fetch(const void* source, Index bytes) {
  context_->make_current();
  return std::make_shared<GpuCopy>(context_, source, bytes);
}

/// Runs in this GPU's stream, after its kernels; callers have made the stream wait for the kernels of the source's
/// device.
void GpuMemory::copy(const Block& target, Memory& from, const Block& source) {
  if (target.bytes() == 0) return;
  context_->make_current();
  const Context& other = *dynamic_cast<GpuMemory&>(from).context_;
  if (is_one_run(target) && is_one_run(source)) {
    copy_run(target.data, other, source.data, target.bytes());
  } else if (other.ordinal() == context_->ordinal() && std::max(target.pitch, source.pitch) <= most_pitch_) {
    check(cudaMemcpy2DAsync(target.data, wide(target.pitch), source.data, wide(source.pitch), wide(target.width),
                            wide(target.rows), cudaMemcpyDeviceToDevice, context_->stream()),
          "cudaMemcpy2DAsync");
  } else {
    for (Index row = 0; row < target.rows; ++row) {
      copy_run(row_of(target, row), other, row_of(source, row), target.width);
    }
  }
}

void GpuMemory::copy_run(void* target, const Context& from, const void* source, Index bytes) {
  if (from.ordinal() == context_->ordinal()) {
    check(cudaMemcpyAsync(target, source, wide(bytes), cudaMemcpyDeviceToDevice, context_->stream()),
          "cudaMemcpyAsync");
  } else {
    reach(from.ordinal());
    check(cudaMemcpyPeerAsync(target, context_->ordinal(), source, from.ordinal(), wide(bytes), context_->stream()),
          "cudaMemcpyPeerAsync");
  }
}

/// Lets this GPU read another GPU's memory directly; done once for each GPU. If that is impossible, CUDA copies through
/// the host.
void GpuMemory::reach(int other) {
  if (!reached_.insert(other).second) return;
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, context_->ordinal(), other), "cudaDeviceCanAccessPeer");
  if (can == 0) return;
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, other), "cudaDeviceGetDefaultMemPool");
  cudaMemAccessDesc access{};
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = context_->ordinal();
  access.flags = cudaMemAccessFlagsProtReadWrite;
  check(cudaMemPoolSetAccess(pool, &access, 1), "cudaMemPoolSetAccess");
}

}  // namespace

std::shared_ptr<Memory> make_memory(const Queue& queue) {
  return std::make_shared<GpuMemory>(queue.shared_context());
}

}  // namespace onebit::device::cuda
