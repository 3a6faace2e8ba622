#pragma once
// Lanes on the CPU: one thread runs all of them in turn, in loops that vectorise. The lanes of a GPU (cuda/lanes.cuh)
// give the same bits.

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>

#include "device/launch/thread_group.hpp"

namespace onebit::device::cpu {

/// Sum of n numbers, where n is a power of 2, by adding the upper half to the lower one repeatedly. Overwrites the
/// numbers.
inline double add_halves(double* values, Index n) {
  for (Index half = n / 2; half > 0; half /= 2) {
    for (Index lane = 0; lane < half; ++lane) values[lane] += values[lane + half];
  }
  return values[0];
}

/// Sum of the numbers of the first `used` lanes, one per lane: add_halves() for each group of 32 lanes, then for the
/// results. Overwrites the numbers.
template <Index kCount>
double add_lanes(double* sums, Index used) {
  constexpr Index warp = kCount < 32 ? kCount : 32, warps = kCount / warp;
  double totals[static_cast<std::size_t>(warps)] = {};
  for (Index w = 0; w * warp < used; ++w) {
    for (Index lane = std::max(used, w * warp); lane < (w + 1) * warp; ++lane) sums[lane] = 0;
    totals[w] = add_halves(sums + w * warp, warp);
  }
  return add_halves(totals, warps);
}

/// Sum of term(i) over [0, n): kCount interleaved partial sums, combined by add_lanes.
template <Index kCount, class Term>
double interleaved_sum(Index n, const Term& term) {
  double sums[static_cast<std::size_t>(kCount)];
  const Index used = std::min(n, kCount);
  for (Index lane = 0; lane < used; ++lane) sums[lane] = 0;
  Index i = 0;
  for (; i + kCount <= n; i += kCount) {
#pragma omp simd
    for (Index lane = 0; lane < kCount; ++lane) sums[lane] += term(i + lane);
  }
  for (Index lane = 0; i < n; ++i, ++lane) sums[lane] += term(i);
  return add_lanes<kCount>(sums, used);
}

/// All lanes of a small item. They do the same as the lanes of a thread group (device/launch/thread_group.hpp), but
/// their sums are not divided into tiles.
class Lanes {
 public:
  template <class Visit>
  void each(Index n, const Visit& visit) const {
#pragma omp simd
    for (Index i = 0; i < n; ++i) visit(i);
  }
  template <class Term>
  double sum(Index n, const Term& term) const {
    return interleaved_sum<kItemLanes>(n, term);
  }
  template <class Term>
  float largest(Index n, const Term& term) const {
    return OneLane{}.largest(n, term);
  }
  template <class Test>
  bool any(Index n, const Test& test) const {
    std::int32_t found = 0;
    for (Index i = 0; i < n; ++i) found |= test(i) ? 1 : 0;
    return found != 0;
  }
  template <class Write>
  void once(const Write& write) const {
    write();
  }
  void barrier() const {}
};

/// A thread of a thread group.
class GroupMember {
 public:
  /// Makes a member. others: the barrier at which this thread waits for the other members; null if there are none.
  explicit GroupMember(std::barrier<>* others = nullptr) : others_(others) {}

  template <class Visit>
  void each(Index first, Index last, const Visit& visit) const {
#pragma omp simd
    for (Index i = first; i < last; ++i) visit(i);
  }

  template <class Bind>
  void each_in_runs(Index first, Index last, Index run, const Bind& bind) const {
    for (Index i = first; i < last;) {
      const auto visit = bind(i / run);
      const Index end = std::min((i / run + 1) * run, last);
#pragma omp simd
      for (Index k = i; k < end; ++k) visit(k);
      i = end;
    }
  }

  template <class Term>
  double tile_sum(Index n, const Term& term) const {
    return interleaved_sum<kLargeItemLanes>(n, term);
  }

  template <class Term>
  double sum(Index n, const Term& term) const {
    if (n <= kTile) return tile_sum(n, term);
    double sums[static_cast<std::size_t>(kLargeItemLanes)] = {};
    for (Index first = 0, tile = 0; first < n; first += kTile, ++tile) {
      sums[tile % kLargeItemLanes] +=
          tile_sum(std::min(kTile, n - first), [&term, first](Index i) { return term(first + i); });
    }
    return add_lanes<kLargeItemLanes>(sums, std::min(ceil_div(n, kTile), kLargeItemLanes));
  }

  template <class Term>
  float largest(Index n, const Term& term) const {
    return largest(0, n, term);
  }
  template <class Term>
  float largest(Index first, Index last, const Term& term) const {
    return OneLane{}.largest(first, last, term);
  }

  template <class Of>
  Ranked ranked(Index n, Index rank, const Of& of) const {
    Index counts[kBins] = {};
    count_bins(0, n, of, counts);
    return find_bin(counts, rank);
  }

  /// Counts how many of the values `of(i)` fall into each bin, and adds the results to `counts`, which all members
  /// share.
  template <class Of>
  void add_bins(Index first, Index last, const Of& of, Index* counts) const {
    Index own[kBins] = {};
    count_bins(first, last, of, own);
    for (std::uint32_t bin = 0; bin < kBins; ++bin) {
      if (own[bin] > 0) std::atomic_ref(counts[bin]).fetch_add(own[bin], std::memory_order_relaxed);
    }
  }

  /// Finds the bin that contains the value with the given rank (1 is the largest). The rank must not exceed the sum of
  /// the counts.
  Ranked find_bin(const Index* counts, Index rank) const {
    std::uint32_t bin = kBins - 1;
    for (; counts[bin] < rank; --bin) rank -= counts[bin];
    return {bin, rank, counts[bin]};
  }

  template <class Test>
  Index count(Index first, Index last, const Test& test) const {
    Index found = 0;
    for (Index i = first; i < last; ++i) found += test(i) ? 1 : 0;
    return found;
  }

  template <bool in_order, class Test, class Take>
  Index select(Index first, Index last, Index rank, const Test& test, const Take& take) const {
    Index waiting[static_cast<std::size_t>(kTogether)];
    Index count = 0;
    for (Index i = first; i < last; ++i) {
      if (!test(i)) continue;
      waiting[count++] = i;
      if ((rank + count) % kTogether != 0) continue;
      take(rank, static_cast<const Index*>(waiting), count);
      rank += count;
      count = 0;
    }
    if (count > 0) take(rank, static_cast<const Index*>(waiting), count);
    return rank + count;
  }

  template <class Test>
  Index nth(Index first, Index, Index rank, const Test& test) const {
    Index i = first;
    while (!test(i) || rank-- > 0) ++i;
    return i;
  }

  template <class Write>
  void once(const Write& write) const {
    write();
  }

  void barrier(Index members) const {
    if (members > 1) others_->arrive_and_wait();
  }

 private:
  template <class Of>
  static void count_bins(Index first, Index last, const Of& of, Index* counts) {
    for (Index i = first; i < last; ++i) {
      const std::uint32_t bin = of(i);
      if (bin < kBins) ++counts[bin];
    }
  }

  std::barrier<>* others_;
};

}  // namespace onebit::device::cpu
