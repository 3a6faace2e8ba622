#pragma once
// What lanes of both backends share. What those of a large item can do is said in crew.hpp.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "device/types.hpp"

namespace onebit::device {

inline constexpr Index kItemLanes = 16;        ///< of an item: a row of a few hundred elements, say
inline constexpr Index kLargeItemLanes = 512;  ///< of each member of a crew, which shares a large item: crew.hpp
inline constexpr Index kTile = 16384;          ///< elements that large items are summed by

/// How large the items of a launch are, in elements.
struct ItemSizes {
  Index count = 0;
  Index longest = 0;
  Index total = 0;
};

/// Members of each crew where so many are to be had in all: the longest item is to take no longer than its share.
inline Index crew_size(const ItemSizes& sizes, Index members) {
  if (sizes.total <= 0) return 1;
  const Index most = std::max<Index>(1, std::min(members, sizes.longest / kTile));
  return std::clamp<Index>(sizes.longest * members / sizes.total, 1, most);
}

/// i / run for i >= 0, run > 0. Dividing 32 bits takes a fraction of the time that 64 do.
ONEBIT_HOST_DEVICE inline Index run_of(Index i, Index run) {
  if (((i | run) >> 32) != 0) return i / run;
  return Index{static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(run)};
}

inline constexpr Index kTogether = 8;        ///< elements that select() hands out at a time
inline constexpr std::uint32_t kBins = 256;  ///< of ranked()

struct Ranked {
  std::uint32_t bin;
  Index rank;   ///< in the bin, from 1
  Index count;  ///< in the bin
};

/// By the numbers of elements in every bin; rank is at most their sum.
template <class Count>
ONEBIT_HOST_DEVICE Ranked find_bin(const Count* counts, Index rank) {
  std::uint32_t bin = kBins - 1;
  for (; static_cast<Index>(counts[bin]) < rank; --bin) rank -= static_cast<Index>(counts[bin]);
  return {bin, rank, static_cast<Index>(counts[bin])};
}

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
