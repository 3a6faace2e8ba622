#include "device/cuda/landing.cuh"

#include <algorithm>
#include <bit>

#include "device/cuda/check.hpp"

namespace onebit::device::cuda {
namespace {

void release(const Landing::Spot& spot) {
  if (spot.memory != nullptr) ignore(cudaFreeHost(spot.memory));
  if (spot.arrived != nullptr) ignore(cudaEventDestroy(spot.arrived));
}

Landing::Spot make(Index bytes) {
  Landing::Spot spot{.bytes =
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

Landing::~Landing() {
  for (const Spot& spot : free_) release(spot);
}

void Landing::give_back(const Spot& spot) noexcept {
  free_.insert(std::ranges::upper_bound(free_, spot.bytes, {}, &Spot::bytes), spot);
}

Landing::Spot Landing::take(Index bytes) {
  const auto fits = std::ranges::lower_bound(free_, bytes, {}, &Spot::bytes);
  if (fits == free_.end()) {
    free_.reserve(++made_);
    return make(bytes);
  }
  const Spot spot = *fits;
  free_.erase(fits);
  return spot;
}

}  // namespace onebit::device::cuda
