#include "device/plan/memory.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "device/cpu/memory.hpp"

namespace onebit::device::plan {

void* PlanMemory::allocate(Index bytes) {
  const Index size = cpu::block_size(bytes);
  if (void* kept = pool_.take(size)) return kept;
  void* data = reinterpret_cast<void*>(next_);
  next_ += static_cast<std::uintptr_t>(size);
  pool_.add(data, size);
  return data;
}

Index PlanMemory::available() const {
  return std::numeric_limits<Index>::max();
}

void PlanMemory::upload(void*, const void*, Index bytes) {
  largest_transfer_ = std::max(largest_transfer_, bytes);
}

void PlanMemory::download(void* target, const void*, Index bytes) {
  largest_transfer_ = std::max(largest_transfer_, bytes);
  if (bytes > 0) std::memset(target, 1, static_cast<std::size_t>(bytes));
}

}  // namespace onebit::device::plan
