#pragma once
// Segments of a flat vector (its tensors, or the whole vector) and their fixed division into chunks. The division
// depends on the problem alone, so sums over chunks have the same bits for any number of threads.

#include <span>

#include "device/memory/buffer.hpp"

namespace onebit::device {

/// Number of elements in a chunk of the sums of reduce().
inline constexpr Index kChunk = 4096;
/// A chunk is cut into runs of kSumRun elements. Each run has kSumLanes partial sums: lane l adds elements l, l +
/// kSumLanes, .... Fixed pairwise trees combine the runs of a chunk lane by lane, then the lanes, then the chunks of a
/// segment. The bits therefore do not depend on the number of threads.
inline constexpr Index kSumLanes = 16;
inline constexpr Index kSumRun = 256;

/// A run of at most kChunk elements [begin, end) of one segment, counted from the segment's start.
struct Chunk {
  Index segment = 0;
  Index begin = 0;
  Index end = 0;
};

/// The chunks in the form that launchers take, in device memory. A single segment needs no table.
struct ChunkView {
  const Chunk* table = nullptr;        ///< [count]: the chunks; null if there is no table
  const Index* first_chunk = nullptr;  ///< [segments + 1]: first chunk of each segment; null if there is no table
  Index segments = 0;
  Index count = 0;
  Index size = 0;  ///< number of elements of the only segment, if there is no table

  ONEBIT_HOST_DEVICE Chunk operator[](Index chunk) const {
    if (table != nullptr) return table[chunk];
    const Index begin = chunk * kChunk;
    return {0, begin, begin + kChunk < size ? begin + kChunk : size};
  }
  /// Index of the first chunk of a segment; first(segments) == count.
  ONEBIT_HOST_DEVICE Index first(Index segment) const {
    return first_chunk != nullptr ? first_chunk[segment] : segment * count;
  }
};

/// Consecutive segments divided into chunks; a chunk never straddles two segments.
class Chunks {
 public:
  Chunks() = default;
  /// Makes the chunks of several segments. sizes: number of elements of each segment, which may be 0.
  Chunks(const Device& device, std::span<const Index> sizes);
  /// Makes the chunks of a single segment, for any device.
  explicit Chunks(Index size) : segments_(1), count_(ceil_div(size, kChunk)), size_(size) {}

  Index segments() const { return segments_; }
  Index count() const { return count_; }
  ChunkView view() const { return {table_.data(), first_.data(), segments_, count_, size_}; }

 private:
  Index segments_ = 0;
  Index count_ = 0;
  Index size_ = 0;
  Buffer<Chunk> table_;
  Buffer<Index> first_;
};

}  // namespace onebit::device
