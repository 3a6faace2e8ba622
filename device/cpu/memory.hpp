#pragma once

#include "device/memory/block_pool.hpp"
#include "device/memory/memory.hpp"

namespace onebit::device::cpu {

/// Plain host memory. Released blocks are kept for the next buffers of about their size, so that a step that allocates
/// and releases its buffers needs no memory from the system. May be used by one thread at a time.
class HostMemory final : public Memory {
 public:
  HostMemory() = default;
  ~HostMemory() override;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  void* allocate(Index bytes) override;
  void release(void* data) noexcept override;
  MemoryUse use() const override { return pool_.use(); }
  Index available() const override;
  void fill(void* target, int byte, Index bytes) override;
  void upload(void* target, const void* source, Index bytes) override;
  void download(void* target, const void* source, Index bytes) override;
  void copy(const Block& target, Memory& from, const Block& source) override;

 private:
  BlockPool pool_;
};

/// The size of the block that a buffer of `bytes` bytes gets. Large blocks are whole huge pages.
Index block_size(Index bytes);

/// Copies a rectangle of bytes within the host's address space.
void copy_block(const Block& target, const Block& source);

}  // namespace onebit::device::cpu
