#pragma once
// A pool of released memory blocks that are kept for the next buffers, and its statistics.

#include <vector>

#include "device/memory/memory.hpp"

namespace onebit::device {

class BlockPool {
 public:
  struct Block {
    void* data = nullptr;
    Index size = 0;
    bool used = false;
  };

  /// Takes the smallest free block of `size` to 2 * `size` bytes; returns null if there is none.
  void* take(Index size);
  /// Adds a block that the system has just allocated; it is in use.
  void add(void* data, Index size);
  /// Keeps a block for reuse. Returns its size, or 0 for an unknown block.
  Index keep(void* data) noexcept;

  const MemoryUse& use() const { return use_; }
  /// All blocks that the system has allocated, used or free.
  const std::vector<Block>& blocks() const { return blocks_; }

 private:
  std::vector<Block> blocks_;  ///< a few hundred, searched linearly
  MemoryUse use_;
};

}  // namespace onebit::device
