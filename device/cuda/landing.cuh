#pragma once
// Pinned host memory to which a GPU copies by itself while the host goes on.

#include <cuda_runtime.h>

#include <vector>

#include "device/base/types.hpp"

namespace onebit::device::cuda {

/// Spots for what comes from a GPU, each with the event of its arrival. Those given back are kept for the next ones.
class Landing {
 public:
  struct Spot {
    void* memory = nullptr;
    Index bytes = 0;
    cudaEvent_t arrived = nullptr;
  };

  Landing() = default;
  ~Landing();
  Landing(const Landing&) = delete;
  Landing& operator=(const Landing&) = delete;

  /// Of at least so many bytes. The GPU that is current is the spot's.
  Spot take(Index bytes);
  /// A copy to it may still be under way, as long as the next one is behind it in the same stream.
  void give_back(const Spot& spot) noexcept;

 private:
  std::vector<Spot> free_;  ///< by size, with room for all
  std::size_t made_ = 0;
};

}  // namespace onebit::device::cuda
