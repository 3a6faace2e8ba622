#include "device/launch/chunks.hpp"

#include <algorithm>

namespace onebit::device {
namespace {

std::vector<Chunk> cut(std::span<const Index> sizes, Index count) {
  std::vector<Chunk> chunks;
  chunks.reserve(static_cast<std::size_t>(count));
  Index segment = 0;
  for (const Index size : sizes) {
    for (Index begin = 0; begin < size; begin += kChunk) {
      chunks.push_back({segment, begin, std::min(begin + kChunk, size)});
    }
    ++segment;
  }
  return chunks;
}

}  // namespace

Chunks::Chunks(const Device& device, std::span<const Index> sizes) : segments_(static_cast<Index>(sizes.size())) {
  std::vector<Index> first = {0};
  for (const Index size : sizes) {
    count_ += ceil_div(size, kChunk);
    first.push_back(count_);
  }
  table_ = Buffer<Chunk>::made(device, count_, [&] { return cut(sizes, count_); });
  first_ = Buffer<Index>::copy_of(device, first);
}

}  // namespace onebit::device
