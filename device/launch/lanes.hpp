#pragma once
// Types and constants for the lanes of both backends. thread_group.hpp describes what the lanes of a large item can do.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "device/base/types.hpp"

namespace onebit::device {

inline constexpr Index kItemLanes = 16;        ///< lanes of a small item, e.g. a row of a few hundred elements
inline constexpr Index kLargeItemLanes = 512;  ///< lanes of each member of a thread group (thread_group.hpp)
inline constexpr Index kTile = 16384;          ///< elements of a tile: large items are summed tile by tile

inline constexpr Index kColumnLanes = 16;  ///< number of partial sums of a column

/// The terms that a row adds to the sums of a column.
template <Index count>
struct ColumnTerms {
  static constexpr Index kCount = count;
  double term[static_cast<std::size_t>(count)];
};

/// Sizes of a launch's items, in elements.
struct ItemSizes {
  Index count = 0;
  /// Elements of the longest item. Must be at least as large as every n that a kernel passes to lanes.sum(), because
  /// the size of the scratch memory follows from it.
  Index longest = 0;
  Index total = 0;

  void add(Index elements) {
    ++count;
    longest = std::max(longest, elements);
    total += elements;
  }
};

/// Returns how many of `all` threads or blocks share an item. The number is `all` * longest / total, so that the
/// longest item does not take longer than the rest, or larger if there would otherwise be more groups than items.
/// Returns at most one thread or block per kTile elements of the longest item, and at least 1.
inline Index group_size(const ItemSizes& sizes, Index all) {
  if (sizes.total <= 0 || sizes.count <= 0) return 1;
  const Index most = std::max<Index>(1, std::min(all, sizes.longest / kTile));
  const Index fair = std::clamp<Index>(sizes.longest * all / sizes.total, 1, most);
  return std::min(most, all / std::min(all / fair, sizes.count));
}

/// i / run for i >= 0, run > 0. A 32-bit division takes a fraction of the time of a 64-bit one.
ONEBIT_HOST_DEVICE inline Index run_of(Index i, Index run) {
  if (((i | run) >> 32) != 0) return i / run;
  return Index{static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(run)};
}

inline constexpr Index kTogether = 8;         ///< elements that select() passes on at a time
inline constexpr std::uint32_t kBins = 2048;  ///< bins of ranked(): 11 bits

/// The place of a number that ranked() has found.
struct Ranked {
  std::uint32_t bin;  ///< bin of the number
  Index rank;         ///< rank within the bin, from 1
  Index count;        ///< number of elements in the bin
};

/// A single lane, for a piece of an item that is not divided further.
class OneLane {
 public:
  template <class Term>
  ONEBIT_DEVICE double sum(Index n, const Term& term) const {
    double sum = 0;
    for (Index i = 0; i < n; ++i) sum += term(i);
    return sum;
  }
  template <class Term>
  ONEBIT_DEVICE float largest(Index n, const Term& term) const {
    return largest(0, n, term);
  }
  /// Largest of term(0) and of term(i) for i in [first, last).
  template <class Term>
  ONEBIT_DEVICE float largest(Index first, Index last, const Term& term) const {
    constexpr Index together = 8;  // independent maxima, which do not wait for each other
    float most[together];
    for (Index k = 0; k < together; ++k) most[k] = term(0);
    Index i = first;
    for (; i + together <= last; i += together) {
      for (Index k = 0; k < together; ++k) most[k] = larger(term(i + k), most[k]);
    }
    for (; i < last; ++i) most[0] = larger(term(i), most[0]);
    for (Index k = 1; k < together; ++k) most[0] = larger(most[k], most[0]);
    return most[0];
  }
  template <class Write>
  ONEBIT_DEVICE void once(const Write& write) const {
    write();
  }

 private:
  ONEBIT_DEVICE static float larger(float value, float most) { return value > most ? value : most; }
};

}  // namespace onebit::device
