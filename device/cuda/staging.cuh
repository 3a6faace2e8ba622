#pragma once
// Pinned host memory from which a GPU copies without making the host wait.

#include <array>

#include "device/base/types.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/owned.cuh"

namespace onebit::device::cuda {

/// A ring of pinned slots. Uploads go through the slots piece by piece. The caller may therefore change its source
/// immediately, and waits only if the GPU still has to read all of the slots.
class Staging {
 public:
  Staging() = default;
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Copies to memory of the current GPU, after the stream's earlier work.
  void upload(void* target, const void* source, Index bytes, cudaStream_t stream);

 private:
  static constexpr Index kSlot = Index{1} << 20;
  static constexpr std::size_t kSlots = 16;

  std::byte* wait_for(std::size_t slot);

  std::byte* memory_ = nullptr;  ///< memory of all slots, allocated with the first upload
  std::array<Owned<cudaEvent_t, &cudaEventDestroy>, kSlots> read_;
  std::size_t next_ = 0;
};

}  // namespace onebit::device::cuda
