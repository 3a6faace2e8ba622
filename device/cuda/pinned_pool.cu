#include "device/cuda/pinned_pool.cuh"

#include <algorithm>
#include <bit>

#include "device/cuda/check.hpp"

namespace onebit::device::cuda {
namespace {

void release(const PinnedPool::Slot& slot) {
  if (slot.memory != nullptr) ignore(cudaFreeHost(slot.memory));
  if (slot.arrived != nullptr) ignore(cudaEventDestroy(slot.arrived));
}

PinnedPool::Slot make(Index bytes) {
  PinnedPool::Slot slot{.bytes =
                            static_cast<Index>(std::bit_ceil(static_cast<std::size_t>(std::max<Index>(bytes, 4096))))};
  try {
    check(cudaMallocHost(&slot.memory, static_cast<std::size_t>(slot.bytes)), "cudaMallocHost");
    check(cudaEventCreateWithFlags(&slot.arrived, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  } catch (...) {
    release(slot);
    throw;
  }
  return slot;
}

}  // namespace

PinnedPool::~PinnedPool() {
  for (const Slot& slot : free_) release(slot);
}

void PinnedPool::give_back(const Slot& slot) noexcept {
  free_.insert(std::ranges::upper_bound(free_, slot.bytes, {}, &Slot::bytes), slot);
}

PinnedPool::Slot PinnedPool::take(Index bytes) {
  const auto fits = std::ranges::lower_bound(free_, bytes, {}, &Slot::bytes);
  if (fits == free_.end()) {
    free_.reserve(++made_);
    return make(bytes);
  }
  const Slot slot = *fits;
  free_.erase(fits);
  return slot;
}

}  // namespace onebit::device::cuda
