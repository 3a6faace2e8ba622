#pragma once
// How a kernel shares an item, a row say, out among lanes. On the CPU one thread is all lanes, and loops vectorise; on
// a GPU each lane is a thread (cuda/lanes.cuh). The results have the same bits.

#include "device/types.hpp"

namespace onebit::device::cpu {

class Lanes {
 public:
  /// Calls visit(i) for i in [0, n), always by the same lane for the same i.
  template <class Visit>
  void each(Index n, const Visit& visit) const {
#pragma omp simd
    for (Index i = 0; i < n; ++i) visit(i);
  }

  /// Sum of term(i) over [0, n): kCount interleaved partial sums, halves added to each other.
  template <class Term>
  double sum(Index n, const Term& term) const {
    double sums[kCount] = {};
    Index i = 0;
    for (; i + kCount <= n; i += kCount) {
#pragma omp simd
      for (Index lane = 0; lane < kCount; ++lane) sums[lane] += term(i + lane);
    }
    for (Index lane = 0; i < n; ++i, ++lane) sums[lane] += term(i);
    for (Index half = kCount / 2; half > 0; half /= 2) {
      for (Index lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    }
    return sums[0];
  }

  /// The largest of n >= 1 numbers. NaN is passed over, except in front.
  float largest(const float* z, Index n) const {
    float most[kCount];
    for (Index lane = 0; lane < kCount; ++lane) most[lane] = z[0];
    Index i = 0;
    for (; i + kCount <= n; i += kCount) {
      for (Index lane = 0; lane < kCount; ++lane) most[lane] = z[i + lane] > most[lane] ? z[i + lane] : most[lane];
    }
    for (Index lane = 0; i < n; ++i, ++lane) most[lane] = z[i] > most[lane] ? z[i] : most[lane];
    float top = most[0];
    for (Index lane = 1; lane < kCount; ++lane) top = most[lane] > top ? most[lane] : top;
    return top;
  }

  /// Whether test(i) holds for an i in [0, n).
  template <class Test>
  bool any(Index n, const Test& test) const {
    std::int32_t found = 0;
    for (Index i = 0; i < n; ++i) found |= test(i) ? 1 : 0;
    return found != 0;
  }

  /// Calls write() in one lane.
  template <class Write>
  void once(const Write& write) const {
    write();
  }

  /// What any lane wrote before, every lane can read behind this.
  void meet() const {}

 private:
  static constexpr Index kCount = 16;
};

}  // namespace onebit::device::cpu
