#pragma once
// How a kernel divides a large item among the lanes of a thread group, whose members are threads of the CPU or blocks
// of a GPU. A group has one member if there are enough items, and more if there are few. On the CPU a member runs all
// of its lanes in turn, in loops that vectorise (cpu/lanes.hpp); on a GPU each lane is a thread (cuda/lanes.cuh).
// Results have the same bits for any number of members and on both backends.

#include "device/launch/lanes.hpp"

namespace onebit::device {

/// Memory shared by the members of a thread group. Arrays that each call overwrites are double-buffered ([2]), so that
/// a member that has already entered the next call does not overwrite what slower members still read. `counts` is
/// triple-buffered ([3]), because a call also zeroes the counts of the next call.
struct GroupScratch {
  Index tiles;
  double* sums;    ///< [2][tiles]: sums of the tiles
  Index* counts;   ///< [3][kBins]: how many numbers are in each bin
  Index* chosen;   ///< [2][members]: how many elements each member has chosen
  Index* found;    ///< [2]: result of nth()
  Index* eights;   ///< [members][kTogether]: groups of eight that members assemble together
  float* largest;  ///< [2][members]: largest term of each member
};

/// Layout of a thread group's memory for items of up to `tiles` tiles. A single member needs no memory for tiles or
/// counts.
struct GroupRoom {
  Index tiles = 0;
  Index members = 1;

  ONEBIT_HOST_DEVICE constexpr Index bins() const { return members == 1 ? 0 : Index{kBins}; }
  ONEBIT_HOST_DEVICE constexpr Index words() const {
    return 2 * tiles + 3 * bins() + (2 + kTogether + 1) * members + 2;
  }
  /// Divides `memory` into the arrays: words() times 8 bytes, which must be zero if there are several members.
  ONEBIT_HOST_DEVICE GroupScratch scratch(double* memory) const {
    auto* counts = reinterpret_cast<Index*>(memory + 2 * tiles);
    Index* chosen = counts + 3 * bins();
    Index* found = chosen + 2 * members;
    Index* eights = found + 2;
    return {tiles, memory, counts, chosen, found, eights, reinterpret_cast<float*>(eights + kTogether * members)};
  }
};

/// The lanes of a thread group for one item. All lanes have to make each call, with the same n, rank and count.
/// `Member` offers the same calls for one member.
template <class Member>
class GroupLanes {
 public:
  ONEBIT_DEVICE GroupLanes(const Member& member, Index index, Index members, const GroupScratch& scratch)
      : member_(member), index_(index), members_(members), scratch_(scratch) {}
  GroupLanes(const GroupLanes&) = delete;  // a copy would not switch buffers when the original does
  GroupLanes& operator=(const GroupLanes&) = delete;

  /// Calls visit(i) for i in [0, n); for the same n, each i always goes to the same lane.
  template <class Visit>
  ONEBIT_DEVICE void each(Index n, const Visit& visit) const {
    const Range own = share(n);
    member_.each(own.first, own.end(), visit);
  }

  /// Does the same as each, with visit = bind(i / run), so that data can be looked up once per run.
  template <class Bind>
  ONEBIT_DEVICE void each_in_runs(Index n, Index run, const Bind& bind) const {
    const Range own = share(n);
    member_.each_in_runs(own.first, own.end(), run, bind);
  }

  /// Calls visit(piece, lanes) for every piece in [0, count), with a number of lanes that suits pieces of at most
  /// `size` elements. Of the members of lanes, visit may use only `sum`, `largest` and `once`. After a barrier(), other
  /// lanes can read what visit wrote.
  template <class Visit>
  ONEBIT_DEVICE void each_piece(Index count, Index size, const Visit& visit) const {
    if (size < kLargeItemLanes) {
      each(count, [&](Index piece) { visit(piece, OneLane{}); });
    } else if (size <= kTile || count >= members_) {
      for (Index piece = index_; piece < count; piece += members_) visit(piece, member_);
    } else {
      for (Index piece = 0; piece < count; ++piece) visit(piece, *this);
    }
  }

  /// Sum of term(i) over [0, n) in double, in an order that depends on n alone. [0, n) is cut into tiles of kTile. In a
  /// tile, lane l adds terms l, l + kLargeItemLanes, ...; the lanes' sums are then added by halving (k with k+16, k+8,
  /// ...) within each group of 32 lanes, and the groups' results in the same way. The tile sums are added as if they
  /// were the terms of one more tile.
  template <class Term>
  ONEBIT_DEVICE double sum(Index n, const Term& term) const {
    if (members_ == 1) return member_.sum(n, term);
    const Index tiles = ceil_div(n, kTile);
    double* sums = scratch_.sums + turn() * scratch_.tiles;
    for (Index tile = index_; tile < tiles; tile += members_) {
      const Index first = tile * kTile, count = n - first < kTile ? n - first : kTile;
      const double sum = member_.tile_sum(count, [&](Index i) { return term(first + i); });
      member_.once([&] { sums[tile] = sum; });
    }
    barrier();
    return member_.tile_sum(tiles, [sums](Index tile) { return sums[tile]; });
  }

  /// The largest of term(i) over [0, n), n >= 1. If the result is zero, its sign is not defined. NaN is ignored, except
  /// at i = 0.
  template <class Term>
  ONEBIT_DEVICE float largest(Index n, const Term& term) const {
    if (members_ == 1) return member_.largest(n, term);
    const Range own = share(n);
    float* all = scratch_.largest + turn() * members_;
    const float most = member_.largest(own.first, own.end(), term);
    member_.once([&] { all[index_] = most; });
    barrier();
    return member_.largest(members_, [all](Index member) { return all[member]; });
  }

  /// Whether test(i) holds for at least one i in [0, n).
  template <class Test>
  ONEBIT_DEVICE bool any(Index n, const Test& test) const {
    return n > 0 && largest(n, [&](Index i) { return test(i) ? 1.0f : 0.0f; }) > 0;
  }

  /// Finds the number of this rank (1 is the largest) among those numbers `of(i)`, i in [0, n), that are below kBins.
  /// Returns its bin, its rank within the bin, and the number of elements in the bin.
  template <class Of>
  ONEBIT_DEVICE Ranked ranked(Index n, Index rank, const Of& of) const {
    if (members_ == 1) return member_.ranked(n, rank, of);
    const Range own = share(n);
    Index* counts = scratch_.counts + count_turn_ * Index{kBins};
    count_turn_ = (count_turn_ + 1) % 3;
    Index* next = scratch_.counts + count_turn_ * Index{kBins};
    member_.add_bins(own.first, own.end(), of, counts);
    if (index_ == 0) member_.each(0, Index{kBins}, [next](Index bin) { next[bin] = 0; });
    barrier();
    return member_.find_bin(counts, rank);
  }

  /// Calls take(rank, indices, count) with the i in [0, n) for which test(i) holds, in ascending order, eight at a time
  /// and fewer at the end; `rank` is the number of such i before the given ones. With `in_order`, one lane makes all
  /// calls, in order. take(...) may change what test(i) reads for the indices that it was given. Returns the total
  /// number of such i.
  template <bool in_order = false, class Test, class Take>
  ONEBIT_DEVICE Index select(Index n, const Test& test, const Take& take) const {
    const bool alone = in_order || members_ == 1;
    const Range own = alone ? Range{0, index_ == 0 ? n : 0} : share(n);
    Index* chosen = scratch_.chosen + turn() * members_;
    const Index start = alone ? 0 : count_before(own, test, chosen);
    // A group of eight to which several members contribute is assembled by the member that chose its first element.
    const auto take_piece = [&](Index rank, const Index* indices, Index count) {
      if (count == kTogether) return take(rank, indices, count);
      Index* eight = scratch_.eights + (alone ? 0 : owner(rank - rank % kTogether, chosen)) * kTogether;
      for (Index k = 0; k < count; ++k) eight[rank % kTogether + k] = indices[k];
    };
    const Index end = member_.template select<in_order>(own.first, own.end(), start, test, take_piece);
    if (alone) member_.once([&] { chosen[index_] = end; });
    barrier();
    const Index all = before(members_, chosen);
    const Index rest = end % kTogether;  // elements of the last group of eight, if that is incomplete
    if (rest > 0 && end - rest >= start) {
      const Index left = all - (end - rest);
      member_.once([&] {
        const Index* eight = scratch_.eights + index_ * kTogether;
        take(end - rest, eight, left < kTogether ? left : kTogether);
      });
    }
    barrier();
    return all;
  }

  /// Returns the i in [0, n) that passes the test and comes after exactly `rank` others that pass it.
  template <class Test>
  ONEBIT_DEVICE Index nth(Index n, Index rank, const Test& test) const {
    if (members_ == 1) return member_.nth(0, n, rank, test);
    const Range own = share(n);
    const unsigned now = turn();
    Index* chosen = scratch_.chosen + now * members_;
    const Index start = count_before(own, test, chosen);
    if (start <= rank && rank < start + chosen[index_]) {
      const Index i = member_.nth(own.first, own.end(), rank - start, test);
      member_.once([&] { scratch_.found[now] = i; });
    }
    barrier();
    return scratch_.found[now];
  }

  /// Calls write() in one lane.
  template <class Write>
  ONEBIT_DEVICE void once(const Write& write) const {
    if (index_ == 0) member_.once(write);
  }

  /// Waits for all lanes. After that, every lane can read what any lane wrote before.
  ONEBIT_DEVICE void barrier() const { member_.barrier(members_); }

 private:
  /// This member's part of [0, n), in whole cache lines if it is large.
  ONEBIT_DEVICE Range share(Index n) const {
    constexpr Index line = 64;
    Index size = ceil_div(n, members_);
    if (size > line) size = round_up(size, line);
    const Index first = index_ * size < n ? index_ * size : n;
    return {first, n - first < size ? n - first : size};
  }

  ONEBIT_DEVICE static Index before(Index member, const Index* chosen) {
    Index sum = 0;
    for (Index m = 0; m < member; ++m) sum += chosen[m];
    return sum;
  }

  /// Counts this member's choices, waits for the counts of the others, and returns the total of the members before it.
  template <class Test>
  ONEBIT_DEVICE Index count_before(const Range& own, const Test& test, Index* chosen) const {
    const Index count = member_.count(own.first, own.end(), test);
    member_.once([&] { chosen[index_] = count; });
    barrier();
    return before(index_, chosen);
  }

  /// The member that has chosen the element of this rank. Ranks start at 0 and follow the order of the members.
  ONEBIT_DEVICE static Index owner(Index rank, const Index* chosen) {
    Index member = 0;
    for (; rank >= chosen[member]; ++member) rank -= chosen[member];
    return member;
  }

  ONEBIT_DEVICE unsigned turn() const { return turn_ ^= 1; }

  const Member& member_;
  Index index_;
  Index members_;
  GroupScratch scratch_;
  mutable unsigned turn_ = 0, count_turn_ = 0;
};

}  // namespace onebit::device
