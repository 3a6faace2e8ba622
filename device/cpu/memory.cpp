#include "device/cpu/memory.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#if defined(__has_include)
#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#endif
#endif
#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(data, size) ((void)(data), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(data, size) ((void)(data), (void)(size))
#endif

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "device/base/system.hpp"

namespace onebit::device::cpu {
namespace {

constexpr Index kAlignment = 64;
constexpr Index kHugePage = 2 << 20;

std::size_t wide(Index bytes) {
  return static_cast<std::size_t>(bytes);
}

/// Whether huge pages are requested for a block. Without them, kernels that read many streams would wait for the page
/// tables.
bool is_large(Index bytes) {
  return bytes >= 2 * kHugePage;
}

void* system_block(Index size) {
  void* data = std::aligned_alloc(wide(is_large(size) ? kHugePage : kAlignment), wide(size));
  if (data == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
  if (is_large(size)) ::madvise(data, wide(size), MADV_HUGEPAGE);
#endif
  return data;
}

}  // namespace

Index block_size(Index bytes) {
  return round_up(std::max<Index>(bytes, 1), is_large(bytes) ? kHugePage : kAlignment);
}

void copy_block(const Block& target, const Block& source) {
  for (Index row = 0; row < target.rows; ++row) {
    std::memcpy(static_cast<std::byte*>(target.data) + row * target.pitch,
                static_cast<const std::byte*>(source.data) + row * source.pitch, wide(target.width));
  }
}

HostMemory::~HostMemory() {
  for (const BlockPool::Block& block : pool_.blocks()) {
    ASAN_UNPOISON_MEMORY_REGION(block.data, wide(block.size));
    std::free(block.data);
  }
}

void* HostMemory::allocate(Index bytes) {
  const Index size = block_size(bytes);
  void* data = pool_.take(size);
  if (data == nullptr) {
    data = system_block(size);
    pool_.add(data, size);
  }
  ASAN_UNPOISON_MEMORY_REGION(data, wide(size));
  return data;
}

void HostMemory::release(void* data) noexcept {
  [[maybe_unused]] const Index size = pool_.keep(data);
  ASAN_POISON_MEMORY_REGION(data, wide(size));
}

Index HostMemory::available() const {
  return available_memory();
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
