#pragma once
// The interface of a device's memory. Buffers and exchanges use it; kernels use plain pointers.

#include "device/base/types.hpp"
#include "device/memory/future.hpp"

namespace onebit::device {

/// A rectangle of bytes in a device's memory: `rows` runs of `width` bytes that start `pitch` bytes apart.
struct Block {
  void* data = nullptr;
  Index rows = 1;
  Index width = 0;
  Index pitch = 0;
  Index bytes() const { return rows * width; }
};

/// Memory that the buffers of a device take from the system.
struct MemoryUse {
  Index used = 0;         ///< bytes in buffers
  Index held = 0;         ///< bytes in buffers and in released blocks that are kept for reuse
  Index peak = 0;         ///< largest value of `held` so far
  Index allocations = 0;  ///< number of requests to the system
};

class Memory {
 public:
  virtual ~Memory() = default;

  /// Allocates memory, at least 64-byte aligned, with undefined contents. Throws std::bad_alloc.
  virtual void* allocate(Index bytes) = 0;
  virtual void release(void* data) noexcept = 0;

  virtual MemoryUse use() const = 0;
  /// Bytes that the system can still provide.
  virtual Index available() const = 0;

  virtual void fill(void* target, int byte, Index bytes) = 0;
  /// Copies from host memory.
  virtual void upload(void* target, const void* source, Index bytes) = 0;
  /// Copies to host memory, after waiting for the device's kernels.
  virtual void download(void* target, const void* source, Index bytes) = 0;
  /// Starts a download without waiting for it. The default implementation completes the download before it returns.
  virtual std::shared_ptr<const AsyncCopy> fetch(const void* source, Index bytes);
  /// Copies a block of `from`, which is memory of the same kind, to a block of the same shape.
  virtual void copy(const Block& target, Memory& from, const Block& source) = 0;

  /// Makes the contents unusable if this memory is meant to catch mistakes; otherwise does nothing.
  virtual void poison(void*, Index) {}
};

}  // namespace onebit::device
