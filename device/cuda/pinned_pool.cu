#include "device/cuda/pinned_pool.cuh"

#include <algorithm>
#include <bit>

#include "device/cuda/check.hpp"

namespace onebit::device::cuda {
namespace {

void release(const PinnedPool::Slot& spot) {
  if (spot.memory != nullptr) ignore(cudaFreeHost(spot.memory));
  if (spot.arrived != nullptr) ignore(cudaEventDestroy(spot.arrived));
}

PinnedPool::Slot make(Index bytes) {
  PinnedPool::Slot spot{.bytes =
                            static_cast<Index>(std::bit_ceil(static_cast<std::size_t>(std::max<Index>(bytes, 4096))))};
  try {
    check(cudaMallocHost(&spot.memory, static_cast<std::size_t>(spot.bytes)), "cudaMallocHost");
    check(cudaEventCreateWithFlags(&spot.arrived, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  } catch (...) {
    release(spot);
    throw;
  }
  return spot;
}

}  // namespace

PinnedPool::~PinnedPool() {
  for (const Slot& spot : free_) release(spot);
}

void PinnedPool::give_back(const Slot& spot) noexcept {
  free_.insert(std::ranges::upper_bound(free_, spot.bytes, {}, &Slot::bytes), spot);
}

PinnedPool::Slot PinnedPool::take(Index bytes) {
  const auto fits = std::ranges::lower_bound(free_, bytes, {}, &Slot::bytes);
  if (fits == free_.end()) {
    free_.reserve(++made_);
    return make(bytes);
  }
  const Slot spot = *fits;
  free_.erase(fits);
  return spot;
}

}  // namespace onebit::device::cuda
