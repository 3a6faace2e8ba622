#pragma once
// Pinned host memory to which a GPU copies by itself while the host goes on.

#include <cuda_runtime.h>

#include <vector>

#include "device/base/types.hpp"

namespace onebit::device::cuda {

/// Spots for what comes from a GPU, each with the event of its arrival. Those given back are kept for the next ones.
class PinnedPool {
 public:
  struct Slot {
    void* memory = nullptr;
    Index bytes = 0;
    cudaEvent_t arrived = nullptr;
  };

  PinnedPool() = default;
  ~PinnedPool();
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  /// Of at least so many bytes. The GPU that is current is the spot's.
  Slot take(Index bytes);
  /// A copy to it may still be under way, as long as the next one is after it in the same stream.
  void give_back(const Slot& spot) noexcept;

 private:
  std::vector<Slot> free_;  ///< by size, with room for all
  std::size_t made_ = 0;
};

}  // namespace onebit::device::cuda
