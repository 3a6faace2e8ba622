#include "device/launch/chunks.hpp"

#include <algorithm>

namespace onebit::device {

Chunks::Chunks(const Device& device, std::span<const Index> sizes) : segments_(static_cast<Index>(sizes.size())) {
  std::vector<Chunk> chunks;
  std::vector<Index> first = {0};
  for (Index segment = 0; segment < segments_; ++segment) {
    const Index size = sizes[static_cast<std::size_t>(segment)];
    for (Index begin = 0; begin < size; begin += kChunk) {
      chunks.push_back({segment, begin, std::min(begin + kChunk, size)});
    }
    first.push_back(static_cast<Index>(chunks.size()));
  }
  count_ = static_cast<Index>(chunks.size());
  table_ = Buffer<Chunk>::copy_of(device, chunks);
  first_ = Buffer<Index>::copy_of(device, first);
}

}  // namespace onebit::device
