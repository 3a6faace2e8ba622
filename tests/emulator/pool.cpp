#include "tests/emulator/pool.hpp"

#include <sanitizer/asan_interface.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace onebit::emulator {
namespace {

constexpr std::size_t kUnit = 64;  ///< GuardedMemory rounds sizes up to multiples of this

std::array<Pool, kGpus> pools;
std::atomic<Index> allocated = 0, first_failure = -1;

std::uintptr_t address_of(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data);
}

/// The bytes after a block, up to the page that is always closed.
std::size_t rest_after(std::size_t bytes) {
  return (kUnit - bytes % kUnit) % kUnit;
}

}  // namespace

void* Pool::take(std::size_t bytes) {
  void* data = pages.allocate(static_cast<Index>(bytes));
  ASAN_POISON_MEMORY_REGION(static_cast<char*>(data) + bytes, rest_after(bytes));
  blocks_[address_of(data)] = bytes;
  return data;
}

void Pool::release(void* data, bool from_graph) {
  const auto block = blocks_.find(address_of(data));
  if (block == blocks_.end()) std::abort();
  const std::size_t bytes = block->second;
  (from_graph ? recorded : used) -= bytes;
  if (!from_graph) freed_last = bytes;
  blocks_.erase(block);
  ASAN_UNPOISON_MEMORY_REGION(static_cast<char*>(data) + bytes, rest_after(bytes));
  pages.release(data);
}

bool Pool::holds(const void* data, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  const auto after = blocks_.upper_bound(address_of(data));
  if (after == blocks_.begin()) return false;
  const auto& [start, size] = *std::prev(after);
  return address_of(data) + bytes <= start + size;
}

Pool& pool_of(int ordinal) {
  return pools[static_cast<std::size_t>(ordinal)];
}

bool exists(int ordinal) {
  return ordinal >= 0 && ordinal < kGpus;
}

bool is_host_memory(const void* data, std::size_t bytes) {
  const auto owns_an_end = [data, bytes](Pool& pool) {
    return pool.holds(data, 1) || (bytes > 0 && pool.holds(static_cast<const char*>(data) + bytes - 1, 1));
  };
  return std::ranges::none_of(pools, owns_an_end);
}

void release(int gpu, void* data, bool from_graph) {
  Pool& pool = pool_of(gpu);
  const std::lock_guard lock(pool.mutex);
  pool.release(data, from_graph);
}

bool allocation_fails() {
  const Index number = allocated++;
  return first_failure >= 0 && number >= first_failure;
}

void keep_unused(int ordinal, std::size_t in_pool, std::size_t by_graphs) {
  Pool& pool = pool_of(ordinal);
  const std::lock_guard lock(pool.mutex);
  pool.kept = in_pool;
  pool.kept_by_graphs = by_graphs;
}

void need_memory_to_start(int ordinal, std::size_t bytes) {
  Pool& pool = pool_of(ordinal);
  const std::lock_guard lock(pool.mutex);
  pool.code = bytes;
}

Index allocations() {
  return allocated;
}

void fail_allocations_after(Index count) {
  first_failure = count < 0 ? -1 : allocated + count;
}

void spoil(void* data, std::size_t bytes) {
  std::memset(data, 0xFF, bytes);
}

}  // namespace onebit::emulator
