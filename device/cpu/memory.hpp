#pragma once

#include "device/memory.hpp"

namespace onebit::device::cpu {

/// Plain host memory.
class HostMemory final : public Memory {
 public:
  void* allocate(Index bytes) override;
  void release(void* data) noexcept override;
  void fill(void* target, int byte, Index bytes) override;
  void upload(void* target, const void* source, Index bytes) override;
  void download(void* target, const void* source, Index bytes) override;
  void copy(const Block& target, Memory& from, const Block& source) override;
};

/// Copies a rectangle of bytes within the host's address space.
void copy_block(const Block& target, const Block& source);

}  // namespace onebit::device::cpu
