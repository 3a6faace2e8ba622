#pragma once
// Host memory from which a GPU copies by itself while the host goes on.

#include <array>

#include "device/base/types.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/owned.cuh"

namespace onebit::device::cuda {

/// A ring of pinned slots. What is uploaded goes through them piece by piece: the caller may change its copy at once,
/// and waits only where every slot is still to be read.
class Staging {
 public:
  Staging() = default;
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Copies to memory of the GPU that is current, after the stream's work.
  void upload(void* target, const void* source, Index bytes, cudaStream_t stream);

 private:
  static constexpr Index kSlot = Index{1} << 20;
  static constexpr std::size_t kSlots = 16;

  std::byte* wait_for(std::size_t slot);

  std::byte* memory_ = nullptr;  ///< of all slots, taken with the first upload
  std::array<Owned<cudaEvent_t, &cudaEventDestroy>, kSlots> read_;
  std::size_t next_ = 0;
};

}  // namespace onebit::device::cuda
