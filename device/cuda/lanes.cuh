#pragma once
// Lanes on a GPU: half a warp for an item, and blocks for a large one. They give the same bits as the CPU's lanes
// (cpu/lanes.hpp).

#include <cuda_runtime.h>

#include "device/launch/thread_group.hpp"

namespace onebit::device::cuda {

class HalfWarp {
 public:
  /// thread: index of this thread in its block.
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

  __device__ void barrier() const { __syncwarp(mask_); }

 private:
  __device__ static float larger(float value, float most) { return value > most ? value : most; }

  Index lane_;
  unsigned mask_;
};

/// A block of a group: kLargeItemLanes threads.
class GroupMember {
  static constexpr unsigned kCount = static_cast<unsigned>(kLargeItemLanes), kWarps = kCount / 32;
  static constexpr unsigned kOwn = 4;  // elements of a lane that select() tests at a time
  static constexpr unsigned kAll = 0xFFFFFFFFu;

 public:
  /// Scratch memory, which must be in the block's shared memory.
  struct Scratch {
    double sums[kWarps];
    float largest[kWarps];
    unsigned totals[kWarps];
    unsigned long long counts[kBins];
    Index waiting[kOwn * kCount + kTogether];
    Index found;
    Index above[kWarps];
    Ranked ranked;
  };

  /// thread: index of this thread in its block. arrivals: a counter in the GPU's memory, which counts the arrivals of
  /// the group's members at barrier() so far.
  __device__ GroupMember(unsigned thread, Scratch& scratch, unsigned long long* arrivals)
      : lane_(thread), scratch_(scratch), arrivals_(arrivals) {}

  template <class Visit>
  __device__ void each(Index first, Index last, const Visit& visit) const {
    for (Index i = first + lane_; i < last; i += kCount) visit(i);
  }

  template <class Bind>
  __device__ void each_in_runs(Index first, Index last, Index run, const Bind& bind) const {
    for (Index i = first + lane_; i < last; i += kCount) bind(run_of(i, run))(i);
  }

  template <class Term>
  __device__ double tile_sum(Index n, const Term& term) const {
    double sum = 0;
    for (Index i = lane_; i < n; i += kCount) sum += term(i);
    return combine(sum);
  }

  template <class Term>
  __device__ double sum(Index n, const Term& term) const {
    if (n <= kTile) return tile_sum(n, term);
    double own = 0;  // sum of this lane's tiles
    for (Index tile = 0; tile * kTile < n; ++tile) {
      const Index first = tile * kTile, count = n - first < kTile ? n - first : kTile;
      const double sum = tile_sum(count, [&term, first](Index i) { return term(first + i); });
      if (tile % kCount == lane_) own += sum;
    }
    return combine(own);
  }

  template <class Term>
  __device__ float largest(Index n, const Term& term) const {
    return largest(0, n, term);
  }
  template <class Term>
  __device__ float largest(Index first, Index last, const Term& term) const {
    const auto larger = [](float value, float most) { return value > most ? value : most; };
    float most = term(0);
    for (Index i = first + lane_; i < last; i += kCount) most = larger(term(i), most);
    return combine(most, scratch_.largest, larger);
  }

  template <class Of>
  __device__ Ranked ranked(Index n, Index rank, const Of& of) const {
    count_bins(0, n, of);
    return find_bin(scratch_.counts, rank);
  }

  /// Counts how many of the values `of(i)` fall into each bin, and adds the results to `counts`, which all members
  /// share.
  template <class Of>
  __device__ void add_bins(Index first, Index last, const Of& of, Index* counts) const {
    count_bins(first, last, of);
    for (unsigned bin = lane_; bin < kBins; bin += kCount) {
      const unsigned long long own = scratch_.counts[bin];
      if (own > 0) atomicAdd(reinterpret_cast<unsigned long long*>(counts) + bin, own);
    }
  }

  /// Finds the bin that contains the number of this rank. The rank must not exceed the sum of the counts. Lane 0
  /// handles the highest bins, lane 1 the bins below them, and so on.
  template <class Count>
  __device__ Ranked find_bin(const Count* counts, Index rank) const {
    constexpr unsigned own = kBins / kCount;
    const unsigned top = kBins - 1 - own * lane_;
    Index sum = 0;
    for (unsigned k = 0; k < own; ++k) sum += static_cast<Index>(counts[top - k]);
    Index up_to = sum_up_to_here(sum);
    __syncthreads();  // all lanes have read the result of the previous call
    if (lane_ % 32 == 31) scratch_.above[lane_ / 32] = up_to;
    __syncthreads();
    for (unsigned warp = 0; warp < lane_ / 32; ++warp) up_to += scratch_.above[warp];
    Index left = rank - (up_to - sum);
    if (left > 0 && left <= sum) {
      unsigned bin = top;
      for (; static_cast<Index>(counts[bin]) < left; --bin) left -= static_cast<Index>(counts[bin]);
      scratch_.ranked = {bin, left, static_cast<Index>(counts[bin])};
    }
    __syncthreads();
    return scratch_.ranked;
  }

  template <class Test>
  __device__ Index count(Index first, Index last, const Test& test) const {
    double own = 0;
    for (Index i = first + lane_; i < last; i += kCount) own += test(i) ? 1 : 0;
    return static_cast<Index>(combine(own));
  }

  template <bool in_order, class Test, class Take>
  __device__ Index select(Index first, Index last, Index rank, const Test& test, const Take& take) const {
    constexpr Index tile = Index{kOwn} * kCount;
    Index skip = rank % kTogether;            // places already taken in a group of eight that another member began
    Index taken = rank - skip, count = skip;  // passed on, and waiting to fill a group of eight; the same in every lane
    __syncthreads();                          // no lane still reads the entries of an earlier call
    for (Index begin = first; begin < last; begin += tile) {
      const Index own = begin + Index{kOwn} * lane_;
      unsigned chosen = 0;
#pragma unroll
      for (unsigned k = 0; k < kOwn; ++k) chosen |= own + k < last && test(own + k) ? 1u << k : 0u;
      const Place place = place_of(static_cast<unsigned>(__popc(chosen)));
      Index* to = scratch_.waiting + count + place.before;
      for (unsigned k = 0; k < kOwn; ++k) {
        if ((chosen >> k & 1u) != 0) *to++ = own + k;
      }
      __syncthreads();
      const Index eights = (count + place.total) / kTogether;
      hand_out<in_order>(taken, eights, skip, take);
      if (eights > 0) skip = 0;
      taken += eights * kTogether;
      count = (count + place.total) % kTogether;
      const Index rest = lane_ < count ? scratch_.waiting[eights * kTogether + lane_] : 0;
      __syncthreads();
      if (lane_ < count) scratch_.waiting[lane_] = rest;
    }
    __syncthreads();
    if (lane_ == 0 && count > skip)
      take(taken + skip, static_cast<const Index*>(scratch_.waiting + skip), count - skip);
    return taken + count;
  }

  template <class Test>
  __device__ Index nth(Index first, Index last, Index rank, const Test& test) const {
    select<false>(first, last, 0, test, [this, rank](Index before, const Index* indices, Index count) {
      if (before <= rank && rank < before + count) scratch_.found = indices[rank - before];
    });
    __syncthreads();
    return scratch_.found;  // the lanes wait for each other before another call writes it
  }

  template <class Write>
  __device__ void once(const Write& write) const {
    if (lane_ == 0) write();
  }

  /// Waits until all members have arrived. All members must be running, or the call would wait forever; the kernel
  /// therefore needs a cooperative launch.
  __device__ void barrier(Index members) const {
    __syncthreads();
    if (members == 1) return;
    if (lane_ == 0) {
      const auto all = static_cast<unsigned long long>(members);
      __threadfence();
      const unsigned long long over = (atomicAdd(arrivals_, 1ull) / all + 1) * all;
      while (*static_cast<volatile unsigned long long*>(arrivals_) < over) __nanosleep(50);
      __threadfence();
    }
    __syncthreads();
  }

 private:
  /// The number of elements of a tile that the lanes before this one have chosen, and the number that all lanes have.
  struct Place {
    unsigned before, total;
  };

  template <class Of>
  __device__ void count_bins(Index first, Index last, const Of& of) const {
    __syncthreads();  // all lanes have read the previous counts
    for (unsigned bin = lane_; bin < kBins; bin += kCount) scratch_.counts[bin] = 0;
    __syncthreads();
    for (Index tile = first; tile < last; tile += kCount) {
      const Index i = tile + lane_;
      const std::uint32_t bin = i < last ? of(i) : kBins;
      // Magnitudes fall into few bins: a warp counts those in the same bin together.
      const unsigned same = __match_any_sync(kAll, bin);
      const bool is_first = (same & ((1u << (lane_ % 32)) - 1u)) == 0;
      if (bin < kBins && is_first) atomicAdd(&scratch_.counts[bin], static_cast<unsigned long long>(__popc(same)));
    }
    __syncthreads();
  }

  /// Combines one value of every lane by halving, first within the warps, then across them. Every lane gets the result.
  template <class Value, class Combine>
  __device__ Value combine(Value value, Value* warps, const Combine& two) const {
    for (int half = 16; half > 0; half /= 2) value = two(value, __shfl_xor_sync(kAll, value, half));
    __syncthreads();  // all lanes have read the warps' previous values
    if (lane_ % 32 == 0) warps[lane_ / 32] = value;
    __syncthreads();
    value = warps[lane_ % kWarps];
    for (int half = kWarps / 2; half > 0; half /= 2) value = two(value, __shfl_xor_sync(kAll, value, half));
    return value;
  }
  __device__ double combine(double sum) const {
    return combine(sum, scratch_.sums, [](double a, double b) { return a + b; });
  }

  /// Sum over the warp's lanes up to this one.
  template <class Value>
  __device__ Value sum_up_to_here(Value value) const {
    for (unsigned distance = 1; distance < 32; distance *= 2) {
      const Value other = __shfl_up_sync(kAll, value, distance);
      if (lane_ % 32 >= distance) value += other;
    }
    return value;
  }

  __device__ Place place_of(unsigned count) const {
    const unsigned up_to = sum_up_to_here(count);
    if (lane_ % 32 == 31) scratch_.totals[lane_ / 32] = up_to;
    __syncthreads();
    Place place{up_to - count, 0};
    for (unsigned warp = 0; warp < kWarps; ++warp) {
      if (warp < lane_ / 32) place.before += scratch_.totals[warp];
      place.total += scratch_.totals[warp];
    }
    return place;
  }

  /// Passes on `eights` full groups of eight, except the first `skip` places, which belong to other members.
  template <bool in_order, class Take>
  __device__ void hand_out(Index taken, Index eights, Index skip, const Take& take) const {
    const Index first = in_order ? (lane_ == 0 ? 0 : eights) : Index{lane_};
    for (Index e = first; e < eights; e += in_order ? 1 : kCount) {
      const Index from = e * kTogether + (e == 0 ? skip : 0);
      take(taken + from, static_cast<const Index*>(scratch_.waiting + from), (e + 1) * kTogether - from);
    }
  }

  unsigned lane_;
  Scratch& scratch_;
  unsigned long long* arrivals_;
};

}  // namespace onebit::device::cuda
