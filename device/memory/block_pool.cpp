#include "device/memory/block_pool.hpp"

#include <algorithm>

namespace onebit::device {

void* BlockPool::take(Index size) {
  Block* best = nullptr;
  for (Block& block : blocks_) {
    if (block.used || block.size < size || block.size > 2 * size) continue;
    if (best == nullptr || block.size < best->size) best = &block;
  }
  if (best == nullptr) return nullptr;
  best->used = true;
  use_.used += best->size;
  return best->data;
}

void BlockPool::add(void* data, Index size) {
  blocks_.push_back({data, size, true});
  use_.used += size;
  use_.held += size;
  use_.peak = std::max(use_.peak, use_.held);
  ++use_.allocations;
}

Index BlockPool::keep(void* data) noexcept {
  const auto block =
      std::find_if(blocks_.begin(), blocks_.end(), [data](const Block& each) { return each.data == data; });
  if (block == blocks_.end()) return 0;
  block->used = false;
  use_.used -= block->size;
  return block->size;
}

}  // namespace onebit::device
