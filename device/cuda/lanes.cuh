#pragma once
// Lanes (cpu/lanes.hpp) on a GPU: half a warp for an item, a block for a large one.

#include <cuda_runtime.h>

#include "device/lanes.hpp"

namespace onebit::device::cuda {

class HalfWarp {
 public:
  /// thread: number of this one in its block.
  __device__ explicit HalfWarp(unsigned thread)
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

  template <class Term>
  __device__ float largest(Index n, const Term& term) const {
    float most = term(0);
    for (Index i = lane_; i < n; i += kItemLanes) most = larger(term(i), most);
    for (int half = kItemLanes / 2; half > 0; half /= 2) most = larger(__shfl_xor_sync(mask_, most, half), most);
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
  __device__ static float larger(float value, float most) { return value > most ? value : most; }

  Index lane_;
  unsigned mask_;
};

/// All threads of a block of kLargeItemLanes.
class BlockLanes {
  static constexpr unsigned kCount = static_cast<unsigned>(kLargeItemLanes), kWarps = kCount / 32;
  static constexpr unsigned kOwn = 4;  // elements of a lane that select() tests at a time
  static constexpr unsigned kAll = 0xFFFFFFFFu;

 public:
  /// In the block's shared memory.
  struct Scratch {
    double sums[kWarps];
    float largest[kWarps];
    unsigned totals[kWarps];
    unsigned long long counts[kBins];
    Index waiting[kOwn * kCount + kTogether];
    Index found;
  };

  __device__ BlockLanes(unsigned thread, Scratch& scratch) : lane_(thread), scratch_(scratch) {}

  template <class Visit>
  __device__ void each(Index n, const Visit& visit) const {
    for (Index i = lane_; i < n; i += kCount) visit(i);
  }

  template <class Bind>
  __device__ void each_in_runs(Index n, Index run, const Bind& bind) const {
    for (Index i = lane_; i < n; i += kCount) bind(run_of(i, run))(i);
  }

  template <class Term>
  __device__ double sum(Index n, const Term& term) const {
    double sum = 0;
    for (Index i = lane_; i < n; i += kCount) sum += term(i);
    return combine(sum, scratch_.sums, [](double a, double b) { return a + b; });
  }

  template <class Term>
  __device__ float largest(Index n, const Term& term) const {
    const auto larger = [](float a, float b) { return b > a ? b : a; };
    float most = term(0);
    for (Index i = lane_; i < n; i += kCount) most = larger(most, term(i));
    return combine(most, scratch_.largest, larger);
  }

  template <class Test>
  __device__ bool any(Index n, const Test& test) const {
    return sum(n, [&test](Index i) { return test(i) ? 1.0 : 0.0; }) > 0;
  }

  template <class Of>
  __device__ Ranked ranked(Index n, Index rank, const Of& of) const {
    __syncthreads();  // the counts of before have been read
    for (unsigned bin = lane_; bin < kBins; bin += kCount) scratch_.counts[bin] = 0;
    __syncthreads();
    for (Index first = 0; first < n; first += kCount) {
      const Index i = first + lane_;
      const std::uint32_t bin = i < n ? of(i) : kBins;
      // Magnitudes are in few bins: those of a warp that are in the same one are counted together.
      const unsigned same = __match_any_sync(kAll, bin);
      const bool is_first = (same & ((1u << (lane_ % 32)) - 1u)) == 0;
      if (bin < kBins && is_first) atomicAdd(&scratch_.counts[bin], static_cast<unsigned long long>(__popc(same)));
    }
    __syncthreads();
    return find_bin(scratch_.counts, rank);
  }

  template <bool in_order = false, class Test, class Take>
  __device__ Index select(Index n, const Test& test, const Take& take) const {
    constexpr Index tile = Index{kOwn} * kCount;
    Index taken = 0, count = 0;  // handed out, and waiting for others to make up eight; every lane knows both
    __syncthreads();             // nobody reads what waited in an earlier call
    for (Index first = 0; first < n; first += tile) {
      const Index own = first + Index{kOwn} * lane_;
      unsigned chosen = 0;
#pragma unroll
      for (unsigned k = 0; k < kOwn; ++k) chosen |= own + k < n && test(own + k) ? 1u << k : 0u;
      const Place place = place_of(static_cast<unsigned>(__popc(chosen)));
      Index* to = scratch_.waiting + count + place.before;
      for (unsigned k = 0; k < kOwn; ++k) {
        if ((chosen >> k & 1u) != 0) *to++ = own + k;
      }
      __syncthreads();
      const Index eights = (count + place.total) / kTogether;
      hand_out<in_order>(taken, eights, take);
      taken += eights * kTogether;
      count = (count + place.total) % kTogether;
      const Index rest = lane_ < count ? scratch_.waiting[eights * kTogether + lane_] : 0;
      __syncthreads();
      if (lane_ < count) scratch_.waiting[lane_] = rest;
    }
    __syncthreads();
    if (lane_ == 0 && count > 0) take(taken, static_cast<const Index*>(scratch_.waiting), count);
    __syncthreads();
    return taken + count;
  }

  template <class Test>
  __device__ Index nth(Index n, Index rank, const Test& test) const {
    select(n, test, [this, rank](Index before, const Index* indices, Index count) {
      if (before <= rank && rank < before + count) scratch_.found = indices[rank - before];
    });
    return scratch_.found;  // the lanes have met, and do so before another call writes
  }

  template <class Write>
  __device__ void once(const Write& write) const {
    if (lane_ == 0) write();
  }

  __device__ void meet() const {
    __syncthreads();
  }

 private:
  /// Of what a lane has chosen in a tile: how many other lanes have chosen before it, and all of them.
  struct Place {
    unsigned before, total;
  };

  /// One value of every lane: halves of a warp's are combined, then halves of the warps'. Every lane gets the result.
  template <class Value, class Combine>
  __device__ Value combine(Value value, Value* warps, const Combine& two) const {
    for (int half = 16; half > 0; half /= 2) value = two(value, __shfl_xor_sync(kAll, value, half));
    __syncthreads();  // the warps' values of before have been read
    if (lane_ % 32 == 0) warps[lane_ / 32] = value;
    __syncthreads();
    value = warps[lane_ % kWarps];
    for (int half = kWarps / 2; half > 0; half /= 2) value = two(value, __shfl_xor_sync(kAll, value, half));
    return value;
  }

  __device__ Place place_of(unsigned count) const {
    unsigned up_to = count;  // of the warp's lanes up to this one
    for (unsigned distance = 1; distance < 32; distance *= 2) {
      const unsigned other = __shfl_up_sync(kAll, up_to, distance);
      if (lane_ % 32 >= distance) up_to += other;
    }
    if (lane_ % 32 == 31) scratch_.totals[lane_ / 32] = up_to;
    __syncthreads();
    Place place{up_to - count, 0};
    for (unsigned warp = 0; warp < kWarps; ++warp) {
      if (warp < lane_ / 32) place.before += scratch_.totals[warp];
      place.total += scratch_.totals[warp];
    }
    return place;
  }

  template <bool in_order, class Take>
  __device__ void hand_out(Index taken, Index eights, const Take& take) const {
    const Index first = in_order ? (lane_ == 0 ? 0 : eights) : Index{lane_};
    for (Index e = first; e < eights; e += in_order ? 1 : kCount) {
      take(taken + e * kTogether, static_cast<const Index*>(scratch_.waiting + e * kTogether), kTogether);
    }
  }

  unsigned lane_;
  Scratch& scratch_;
};

}  // namespace onebit::device::cuda
