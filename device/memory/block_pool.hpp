#pragma once
// Released blocks of memory that wait for the next buffers, and the count of what they take.

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

  /// The smallest waiting block of `size` to 2 * `size` bytes; null where none waits.
  void* take(Index size);
  /// Counts a block that the system has just given; it is in use.
  void add(void* data, Index size);
  /// Lets a block wait. Its size.
  Index keep(void* data) noexcept;

  const MemoryUse& use() const { return use_; }
  /// All that the system has given.
  const std::vector<Block>& blocks() const { return blocks_; }

 private:
  std::vector<Block> blocks_;  ///< some hundreds: found by looking at each
  MemoryUse use_;
};

}  // namespace onebit::device
