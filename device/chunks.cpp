#include "device/chunks.hpp"

#include <algorithm>

namespace onebit::device {

Chunks::Chunks(std::span<const Index> sizes) {
  for (std::size_t segment = 0; segment < sizes.size(); ++segment) {
    for (Index begin = 0; begin < sizes[segment]; begin += kChunk) {
      chunks_.push_back({static_cast<Index>(segment), begin, std::min(begin + kChunk, sizes[segment])});
    }
    first_.push_back(static_cast<Index>(chunks_.size()));
  }
}

}  // namespace onebit::device
