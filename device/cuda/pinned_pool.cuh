#pragma once
// Pinned host memory to which a GPU copies without making the host wait.

#include <cuda_runtime.h>

#include <vector>

#include "device/base/types.hpp"

namespace onebit::device::cuda {

/// Slots for data from a GPU, each with an event that marks its arrival. Slots given back are reused.
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

  /// Takes a slot of at least `bytes` bytes, whose event belongs to the current GPU.
  Slot take(Index bytes);
  /// Gives a slot back to the pool. A copy to it may still be under way, as long as the next copy follows in the same
  /// stream.
  void give_back(const Slot& slot) noexcept;

 private:
  std::vector<Slot> free_;  ///< free slots by size; has capacity for all slots made
  std::size_t made_ = 0;
};

}  // namespace onebit::device::cuda
