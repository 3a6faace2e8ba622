#include "device/debug/memory.hpp"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "device/base/error.hpp"
#include "device/base/system.hpp"
#include "device/base/text.hpp"
#include "device/cpu/memory.hpp"

namespace onebit::device::debug {
namespace {

constexpr std::size_t kAlignment = 64;

/// The lowest word that is taken for a pointer; words below it are taken for numbers. For example, 0.9f before four
/// bytes of padding reads as address 0x3f666666, where the heap of a program at fixed addresses may lie, and the
/// numbers 3 and 2 read as 0x200000003, where CUDA's driver maps memory of its own. The memory of a
/// position-independent program lies above the program itself.
std::uintptr_t lowest_pointer() {
  return std::max<std::uintptr_t>(std::uintptr_t{1} << 32, ::getauxval(AT_PHDR));
}

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Whether memory is mapped at this address.
bool is_mapped(std::uintptr_t address) {
  unsigned char resident = 0;
  return ::mincore(reinterpret_cast<void*>(address / page_size() * page_size()), 1, &resident) == 0;
}

}  // namespace

GuardedMemory::~GuardedMemory() {
  for (const auto& [start, region] : regions_) {
    ::munmap(reinterpret_cast<void*>(region.pages), region.length + page_size());
  }
}

void* GuardedMemory::allocate(Index bytes) {
  const std::size_t size = up(static_cast<std::size_t>(bytes), kAlignment);
  const std::size_t length = up(size, page_size());
  void* pages = ::mmap(nullptr, length + page_size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  Region region{.pages = reinterpret_cast<std::uintptr_t>(pages), .length = length, .end = 0};
  region.end = region.pages + length;
  const std::uintptr_t start = region.end - size;
  protect(region, true);
  std::memset(pages, 0xFF, length);
  const std::scoped_lock lock(mutex_);
  if (users_ == 0) protect(region, false);
  regions_.emplace(start, region);
  use_.used = use_.held += static_cast<Index>(length);
  use_.peak = std::max(use_.peak, use_.held);
  ++use_.allocations;
  return reinterpret_cast<void*>(start);
}

void GuardedMemory::release(void* data) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = regions_.find(reinterpret_cast<std::uintptr_t>(data));
  if (found == regions_.end()) return;
  ::munmap(reinterpret_cast<void*>(found->second.pages), found->second.length + page_size());
  use_.used = use_.held -= static_cast<Index>(found->second.length);
  regions_.erase(found);
}

MemoryUse GuardedMemory::use() const {
  const std::scoped_lock lock(mutex_);
  return use_;
}

Index GuardedMemory::available() const {
  return available_memory();
}

void GuardedMemory::fill(void* target, int byte, Index bytes) {
  const Access access(this);
  if (bytes > 0) std::memset(target, byte, static_cast<std::size_t>(bytes));
}

void GuardedMemory::upload(void* target, const void* source, Index bytes) {
  const Access access(this);
  if (bytes > 0) std::memcpy(target, source, static_cast<std::size_t>(bytes));
}

void GuardedMemory::download(void* target, const void* source, Index bytes) {
  const Access access(this);
  if (bytes > 0) std::memcpy(target, source, static_cast<std::size_t>(bytes));
}

void GuardedMemory::copy(const Block& target, Memory& from, const Block& source) {
  const Access own(this);
  const Access other(dynamic_cast<GuardedMemory*>(&from));
  cpu::copy_block(target, source);
}

void GuardedMemory::open() {
  const std::scoped_lock lock(mutex_);
  if (users_++ > 0) return;
  for (const auto& [start, region] : regions_) protect(region, true);
}

void GuardedMemory::close() noexcept {
  const std::scoped_lock lock(mutex_);
  if (--users_ > 0) return;
  for (const auto& [start, region] : regions_) protect(region, false);
}

void GuardedMemory::protect(const Region& region, bool accessible) const {
  if (region.length > 0) {
    ::mprotect(reinterpret_cast<void*>(region.pages), region.length, accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
}

/// The address one past the end of an allocation belongs to it, because empty rows may point there.
bool GuardedMemory::owns(std::uintptr_t address) const {
  auto after = regions_.upper_bound(address);
  return after != regions_.begin() && address <= (--after)->second.end;
}

void GuardedMemory::check(const void* kernel, std::size_t size, const std::type_info& type) {
  const std::scoped_lock lock(mutex_);
  const std::uintptr_t lowest = lowest_pointer();
  for (std::size_t offset = 0; offset + sizeof(std::uintptr_t) <= size; offset += alignof(void*)) {
    std::uintptr_t word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(kernel) + offset, sizeof word);
    if (word < lowest || owns(word) || !is_mapped(word)) continue;
    throw Error("a kernel was given a pointer to memory outside its device", readable_type(type),
                "upload the data, or exchange it between devices");
  }
}

}  // namespace onebit::device::debug
