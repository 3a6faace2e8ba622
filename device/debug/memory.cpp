#include "device/debug/memory.hpp"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "device/base/error.hpp"
#include "device/base/system.hpp"
#include "device/base/text.hpp"
#include "device/cpu/memory.hpp"

namespace onebit::device::debug {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kArena = std::size_t{1} << 30;  // bytes of addresses

/// The lowest word that is taken for a pointer; words below it are taken for numbers. For example, 0.9f before four
/// bytes of padding reads as address 0x3f666666, where the heap of a program at fixed addresses may lie, and the
/// numbers 3 and 2 read as 0x200000003, where CUDA's driver maps memory of its own. The memory of a
/// position-independent program lies above the program itself.
std::uintptr_t lowest_pointer() {
  return std::max<std::uintptr_t>(std::uintptr_t{1} << 32, ::getauxval(AT_PHDR));
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

/// Returns an arena with enough addresses left.
Arena& GuardedMemory::arena_for(std::size_t length) {
  if (arenas_.empty() || arenas_.back().left() < length)
    arenas_.emplace_back(std::max(length, kArena), key_.exists() || users_ > 0, key_);
  return arenas_.back();
}

void* GuardedMemory::allocate(Index bytes) {
  const std::size_t size = up(static_cast<std::size_t>(bytes), kAlignment);
  const std::size_t length = up(size, page_size());
  const std::scoped_lock lock(mutex_);
  Arena& arena = arena_for(length + page_size());
  const Region region{.arena = &arena, .pages = arena.take(length), .length = length};
  const std::uintptr_t start = region.end() - size;
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
  const Region region = found->second;
  region.arena->release(region.pages, region.length);
  if (region.arena->is_empty() && region.arena != &arenas_.back()) {
    arenas_.remove_if([&](const Arena& arena) { return &arena == region.arena; });
  }
  use_.used = use_.held -= static_cast<Index>(region.length);
  regions_.erase(found);
}

MemoryUse GuardedMemory::use() const {
  const std::scoped_lock lock(mutex_);
  return use_;
}

Index GuardedMemory::available() const {
  return available_memory();
}

/// Runs a copy of the given bytes. Without a key only their allocation becomes accessible, because opening all of them
/// takes longer.
template <class Copy>
void GuardedMemory::run(const void* data, Index bytes, const Copy& copy) {
  if (bytes <= 0) return;
  if (key_.exists()) {
    const Access access(this);
    return copy(static_cast<std::size_t>(bytes));
  }
  const std::scoped_lock lock(mutex_);
  const auto after = regions_.upper_bound(reinterpret_cast<std::uintptr_t>(data));
  const bool opens = users_ == 0 && after != regions_.begin();
  if (opens) protect(std::prev(after)->second, true);
  copy(static_cast<std::size_t>(bytes));
  if (opens) protect(std::prev(after)->second, false);
}

void GuardedMemory::fill(void* target, int byte, Index bytes) {
  run(target, bytes, [&](std::size_t count) { std::memset(target, byte, count); });
}

void GuardedMemory::upload(void* target, const void* source, Index bytes) {
  run(target, bytes, [&](std::size_t count) { std::memcpy(target, source, count); });
}

void GuardedMemory::download(void* target, const void* source, Index bytes) {
  run(source, bytes, [&](std::size_t count) { std::memcpy(target, source, count); });
}

void GuardedMemory::copy(const Block& target, Memory& from, const Block& source) {
  const Access own(this);
  const Access other(dynamic_cast<GuardedMemory*>(&from));
  cpu::copy_block(target, source);
}

bool GuardedMemory::open() {
  if (key_.exists()) return key_.allow(true);
  const std::scoped_lock lock(mutex_);
  if (users_++ > 0) return false;
  for (Arena& arena : arenas_) arena.open(true);
  return false;
}

void GuardedMemory::close(bool was_open) noexcept {
  if (key_.exists()) {
    key_.allow(was_open);
    return;
  }
  const std::scoped_lock lock(mutex_);
  if (--users_ > 0) return;
  for (Arena& arena : arenas_) arena.open(false);
}

void GuardedMemory::protect(const Region& region, bool is_open) {
  if (region.length == 0) return;
  ::mprotect(reinterpret_cast<void*>(region.pages), region.length, is_open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

/// The address one past the end of an allocation belongs to it, because empty rows may point there.
bool GuardedMemory::owns(std::uintptr_t address) const {
  auto after = regions_.upper_bound(address);
  return after != regions_.begin() && address <= (--after)->second.end();
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
