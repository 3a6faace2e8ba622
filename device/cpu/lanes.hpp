#pragma once
// How a kernel shares an item out among lanes. On the CPU one thread is all lanes, and loops vectorise; on a GPU each
// lane is a thread (cuda/lanes.cuh). The results have the same bits.

#include <algorithm>
#include <cstdint>

#include "device/lanes.hpp"

namespace onebit::device::cpu {

template <Index kCount>
class Lanes {
 public:
  /// Calls visit(i) for i in [0, n), always by the same lane for the same i and n.
  template <class Visit>
  void each(Index n, const Visit& visit) const {
#pragma omp simd
    for (Index i = 0; i < n; ++i) visit(i);
  }

  /// The same with visit = bind(i / run), for what is looked up once a run.
  template <class Bind>
  void each_in_runs(Index n, Index run, const Bind& bind) const {
    for (Index first = 0; first < n; first += run) {
      const auto visit = bind(first / run);
      const Index end = std::min(first + run, n);
#pragma omp simd
      for (Index i = first; i < end; ++i) visit(i);
    }
  }

  /// Sum of term(i) over [0, n): kCount interleaved partial sums, halves of a warp's added to each other, then halves
  /// of the warps'.
  template <class Term>
  double sum(Index n, const Term& term) const {
    double sums[static_cast<std::size_t>(kCount)];
    const Index warps = std::clamp<Index>(ceil_div(n, kWarp), 1, kWarps);  // the other ones have nothing
    for (Index lane = 0; lane < warps * kWarp; ++lane) sums[lane] = 0;
    Index i = 0;
    for (; i + kCount <= n; i += kCount) {
#pragma omp simd
      for (Index lane = 0; lane < kCount; ++lane) sums[lane] += term(i + lane);
    }
    for (Index lane = 0; i < n; ++i, ++lane) sums[lane] += term(i);
    double totals[static_cast<std::size_t>(kWarps)] = {};
    for (Index warp = 0; warp < warps; ++warp) totals[warp] = halves(sums + warp * kWarp, kWarp);
    return halves(totals, kWarps);
  }

  /// The largest of term(i) over [0, n), n >= 1. NaN is passed over, except in front.
  template <class Term>
  float largest(Index n, const Term& term) const {
    return OneLane{}.largest(n, term);
  }

  /// Whether test(i) holds for an i in [0, n).
  template <class Test>
  bool any(Index n, const Test& test) const {
    std::int32_t found = 0;
    for (Index i = 0; i < n; ++i) found |= test(i) ? 1 : 0;
    return found != 0;
  }

  /// Of the numbers of(i) below kBins, i in [0, n), the one of this rank, 1 for the largest: its bin, its rank among
  /// the numbers there, and how many these are. Large items only.
  template <class Of>
  Ranked ranked(Index n, Index rank, const Of& of) const {
    Index counts[kBins] = {};
    for (Index i = 0; i < n; ++i) {
      const std::uint32_t bin = of(i);
      if (bin < kBins) ++counts[bin];
    }
    return find_bin(counts, rank);
  }

  /// Calls take(rank, indices, count) with the i in [0, n) for which test(i) holds in ascending order, eight at a time,
  /// at the end fewer, `rank` of them before. One lane takes all of them in their order if `in_order`. take(...) may
  /// change what test(i) reads for the i that it was given. Returns their number. Large items only.
  template <bool in_order = false, class Test, class Take>
  Index select(Index n, const Test& test, const Take& take) const {
    Index waiting[static_cast<std::size_t>(kTogether)];
    Index taken = 0, count = 0;
    for (Index i = 0; i < n; ++i) {
      if (!test(i)) continue;
      waiting[count++] = i;
      if (count < kTogether) continue;
      take(taken, static_cast<const Index*>(waiting), kTogether);
      taken += kTogether;
      count = 0;
    }
    if (count > 0) take(taken, static_cast<const Index*>(waiting), count);
    return taken + count;
  }

  /// The i in [0, n) for which test(i) holds with `rank` such ones before it. Large items only.
  template <class Test>
  Index nth(Index, Index rank, const Test& test) const {
    Index i = 0;
    while (!test(i) || rank-- > 0) ++i;
    return i;
  }

  /// Calls write() in one lane.
  template <class Write>
  void once(const Write& write) const {
    write();
  }

  /// What any lane wrote before, every lane can read behind this.
  void meet() const {}

 private:
  static constexpr Index kWarp = kCount < 32 ? kCount : 32, kWarps = kCount / kWarp;

  /// Sum of n numbers, which are used up.
  static double halves(double* values, Index n) {
    for (Index half = n / 2; half > 0; half /= 2) {
      for (Index lane = 0; lane < half; ++lane) values[lane] += values[lane + half];
    }
    return values[0];
  }
};

}  // namespace onebit::device::cpu
