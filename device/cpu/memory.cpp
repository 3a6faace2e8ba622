#include "device/cpu/memory.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstdlib>
#include <cstring>
#include <new>

namespace onebit::device::cpu {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = 2 << 20;

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

/// Large buffers ask for huge pages: kernels that read many streams would wait for the page tables otherwise.
void* HostMemory::allocate(Index bytes) {
  const bool large = wide(bytes) >= 2 * kHugePage;
  const std::size_t alignment = large ? kHugePage : kAlignment;
  const std::size_t size = (wide(bytes) + alignment - 1) / alignment * alignment;
  void* data = std::aligned_alloc(alignment, size > 0 ? size : alignment);
  if (data == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
  if (large) ::madvise(data, size, MADV_HUGEPAGE);
#endif
  return data;
}

void HostMemory::release(void* data) noexcept {
  std::free(data);
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
