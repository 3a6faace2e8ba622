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

Landing::Spot Landing::take(Index bytes) {
  const auto larger = [bytes](const Spot& a, const Spot& b) {  // those that are too small come last
    return (a.bytes >= bytes ? a.bytes : Index{1} << 62) < (b.bytes >= bytes ? b.bytes : Index{1} << 62);
  };
  const auto fits = std::min_element(free_.begin(), free_.end(), larger);
  if (fits == free_.end() || fits->bytes < bytes) {
    free_.reserve(++made_);
    return make(bytes);
  }
  const Spot spot = *fits;
  free_.erase(fits);
  return spot;
}

}  // namespace onebit::device::cuda
