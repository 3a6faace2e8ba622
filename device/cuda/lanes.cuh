#pragma once
// Lanes (cpu/lanes.hpp) on a GPU: half a warp.

#include <cuda_runtime.h>

#include "device/types.hpp"

namespace onebit::device::cuda {

inline constexpr Index kItemLanes = 16;

class Lanes {
 public:
  /// thread: number of this one in its block.
  __device__ explicit Lanes(unsigned thread)
      : lane_(thread % static_cast<unsigned>(kItemLanes)),
        mask_(thread / kItemLanes % 2 == 0 ? 0xFFFFu : 0xFFFF0000u) {}

  template <class Visit>
  __device__ void each(Index n, const Visit& visit) const {
    for (Index i = lane_; i < n; i += kItemLanes) visit(i);
  }

  template <class Term>
  __device__ double sum(Index n, const Term& term) const {
    double sum = 0;
    for (Index i = lane_; i < n; i += kItemLanes) sum += term(i);
    for (int half = kItemLanes / 2; half > 0; half /= 2) sum += __shfl_xor_sync(mask_, sum, half);
    return sum;
  }

  __device__ float largest(const float* z, Index n) const {
    float most = z[0];
    for (Index i = lane_; i < n; i += kItemLanes) most = z[i] > most ? z[i] : most;
    for (int half = kItemLanes / 2; half > 0; half /= 2) {
      const float other = __shfl_xor_sync(mask_, most, half);
      most = other > most ? other : most;
    }
    return most;
  }

  template <class Test>
  __device__ bool any(Index n, const Test& test) const {
    bool found = false;
    for (Index i = lane_; i < n; i += kItemLanes) found = found || test(i);
    return (__ballot_sync(mask_, found) & mask_) != 0;
  }

  template <class Write>
  __device__ void once(const Write& write) const {
    if (lane_ == 0) write();
  }

  __device__ void meet() const { __syncwarp(mask_); }

 private:
  Index lane_;
  unsigned mask_;
};

}  // namespace onebit::device::cuda
