#include "device/cpu/memory.hpp"

#include <cstring>
#include <new>

namespace onebit::device::cpu {
namespace {

constexpr std::align_val_t kAlignment{64};

std::size_t wide(Index bytes) {
  return static_cast<std::size_t>(bytes);
}

}  // namespace

void copy_block(const Block& target, const Block& source) {
  for (Index row = 0; row < target.rows; ++row) {
    std::memcpy(static_cast<std::byte*>(target.data) + row * target.pitch,
                static_cast<const std::byte*>(source.data) + row * source.pitch, wide(target.width));
  }
}

void* HostMemory::allocate(Index bytes) {
  return ::operator new(wide(bytes), kAlignment);
}

void HostMemory::release(void* data) noexcept {
  ::operator delete(data, kAlignment);
}

void HostMemory::fill(void* target, int byte, Index bytes) {
  if (bytes > 0) std::memset(target, byte, wide(bytes));
}

void HostMemory::upload(void* target, const void* source, Index bytes) {
  if (bytes > 0) std::memcpy(target, source, wide(bytes));
}

void HostMemory::download(void* target, const void* source, Index bytes) {
  if (bytes > 0) std::memcpy(target, source, wide(bytes));
}

void HostMemory::copy(const Block& target, Memory&, const Block& source) {
  copy_block(target, source);
}

}  // namespace onebit::device::cpu
