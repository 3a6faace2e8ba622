#pragma once
// Segments of a flat vector (its tensors, or the whole of it) and their fixed cut into chunks. The cut depends on the
// problem alone, so sums over it have the same bits for any number of threads.

#include <span>
#include <vector>

#include "device/types.hpp"

namespace onebit::device {

/// Elements per chunk of every deterministic sum.
inline constexpr Index kChunk = 4096;

/// A run of at most kChunk elements [begin, end) of one segment, counted from the segment's start.
struct Chunk {
  Index segment = 0;
  Index begin = 0;
  Index end = 0;
};

/// The cut of consecutive segments into chunks; a chunk never straddles two segments.
class Chunks {
 public:
  Chunks() = default;
  /// sizes: elements of each segment, 0 allowed.
  explicit Chunks(std::span<const Index> sizes);
  explicit Chunks(Index size) : Chunks(std::span<const Index>(&size, 1)) {}

  Index segments() const { return static_cast<Index>(first_.size()) - 1; }
  Index count() const { return static_cast<Index>(chunks_.size()); }
  const Chunk& operator[](Index chunk) const { return chunks_[static_cast<std::size_t>(chunk)]; }
  /// Index of the first chunk of a segment; first(segments()) == count().
  Index first(Index segment) const { return first_[static_cast<std::size_t>(segment)]; }

 private:
  std::vector<Chunk> chunks_;
  std::vector<Index> first_ = {0};
};

}  // namespace onebit::device
