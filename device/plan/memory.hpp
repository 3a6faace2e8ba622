#pragma once
// The memory of a plan: addresses and sizes without storage. Allocations are counted, but nothing is computed.

#include <functional>
#include <memory>

#include "device/launch/recording.hpp"
#include "device/memory/block_pool.hpp"

namespace onebit::device::plan {

/// Allocates and keeps blocks as cpu::HostMemory does, at addresses that no memory can have, so that any access faults.
/// A download writes numbers that are positive in every format, and tiny in floating point, so that host code neither
/// divides by zero nor takes a special path for zeros.
class PlanMemory final : public Memory {
 public:
  void* allocate(Index bytes) override;
  void release(void* data) noexcept override { pool().keep(data); }
  MemoryUse use() const override;
  Index available() const override;
  void fill(void*, int, Index) override {}
  void upload(void*, const void*, Index bytes) override;
  void download(void* target, const void*, Index bytes) override;
  void copy(const Block&, Memory&, const Block&) override {}

  /// Counts the buffers that `work` allocates and releases, in a pool that all recordings share.
  std::shared_ptr<const Recording> record(const std::function<void()>& work);

  /// Bytes of the largest copy from or to host memory; host code needs a buffer of at least that size for it.
  Index largest_transfer() const { return largest_transfer_; }

 private:
  BlockPool& pool() { return recording_ ? recorded_ : pool_; }

  BlockPool pool_, recorded_;
  bool recording_ = false;
  std::uintptr_t next_ = std::uintptr_t{1} << 52;
  Index largest_transfer_ = 0;
};

}  // namespace onebit::device::plan
