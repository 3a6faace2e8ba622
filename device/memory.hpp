#pragma once
// What a device's memory can do. Buffers and exchanges go through it; kernels see plain pointers.

#include "device/types.hpp"

namespace onebit::device {

/// A rectangle of bytes in a device's memory: `rows` runs of `width` bytes that start `pitch` bytes apart.
struct Block {
  void* data = nullptr;
  Index rows = 1;
  Index width = 0;
  Index pitch = 0;
  Index bytes() const { return rows * width; }
};

class Memory {
 public:
  virtual ~Memory() = default;

  /// At least 64-byte aligned, contents undefined. Throws std::bad_alloc.
  virtual void* allocate(Index bytes) = 0;
  virtual void release(void* data) noexcept = 0;

  virtual void fill(void* target, int byte, Index bytes) = 0;
  /// From and to host memory. download waits for the device's kernels.
  virtual void upload(void* target, const void* source, Index bytes) = 0;
  virtual void download(void* target, const void* source, Index bytes) = 0;
  /// Copies `source`, a block of `from`, which is memory of the same kind, to a block of the same shape.
  virtual void copy(const Block& target, Memory& from, const Block& source) = 0;

  /// Makes contents unusable where the memory is there to catch mistakes; elsewhere leaves them.
  virtual void poison(void*, Index) {}
};

}  // namespace onebit::device
