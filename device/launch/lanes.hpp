#pragma once
// What lanes of both backends share. What those of a large item can do is said in thread_group.hpp.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "device/base/types.hpp"

namespace onebit::device {

inline constexpr Index kItemLanes = 16;  ///< of an item: a row of a few hundred elements, say
inline constexpr Index kLargeItemLanes =
    512;                               ///< of each member of a group, which shares a large item: thread_group.hpp
inline constexpr Index kTile = 16384;  ///< elements that large items are summed by

inline constexpr Index kColumnLanes = 16;  ///< partial sums of a column

/// What a row adds to the sums of a column.
template <Index count>
struct ColumnTerms {
  static constexpr Index kCount = count;
  double term[static_cast<std::size_t>(count)];
};

/// How large the items of a launch are, in elements.
struct ItemSizes {
  Index count = 0;
  Index longest = 0;  ///< not below what an item's lanes sum: their memory is for so many
  Index total = 0;

  void add(Index elements) {
    ++count;
    longest = std::max(longest, elements);
    total += elements;
  }
};

/// Members of each group where so many are to be had in all: the longest item is to take no longer than its share, and
/// none is to be left over.
inline Index group_size(const ItemSizes& sizes, Index all) {
  if (sizes.total <= 0 || sizes.count <= 0) return 1;
  const Index most = std::max<Index>(1, std::min(all, sizes.longest / kTile));
  const Index fair = std::clamp<Index>(sizes.longest * all / sizes.total, 1, most);
  return std::min(most, all / std::min(all / fair, sizes.count));
}

/// i / run for i >= 0, run > 0. Dividing 32 bits takes a fraction of the time that 64 do.
ONEBIT_HOST_DEVICE inline Index run_of(Index i, Index run) {
  if (((i | run) >> 32) != 0) return i / run;
  return Index{static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(run)};
}

inline constexpr Index kTogether = 8;         ///< elements that select() hands out at a time
inline constexpr std::uint32_t kBins = 2048;  ///< of ranked(): 11 bits

struct Ranked {
  std::uint32_t bin;
  Index rank;   ///< in the bin, from 1
  Index count;  ///< in the bin
};

/// A lane by itself, for a piece of an item that is not shared out further.
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
  /// Of term(0) and [first, last).
  template <class Term>
  ONEBIT_DEVICE float largest(Index first, Index last, const Term& term) const {
    constexpr Index together = 8;  // which do not wait for each other
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
