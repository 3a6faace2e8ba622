#include "device/plan/memory.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "device/cpu/memory.hpp"

namespace onebit::device::plan {
namespace {

class NothingRecorded final : public Recording {
 public:
  bool valid() const override { return true; }
  void start() const override {}
};

}  // namespace

void* PlanMemory::allocate(Index bytes) {
  const Index size = cpu::block_size(bytes);
  if (void* kept = pool().take(size)) return kept;
  void* data = reinterpret_cast<void*>(next_);
  next_ += static_cast<std::uintptr_t>(size);
  pool().add(data, size);
  return data;
}

MemoryUse PlanMemory::use() const {
  MemoryUse use = pool_.use();
  const MemoryUse recorded = recorded_.use();
  use.used += recorded.held;
  use.held += recorded.held;
  use.peak += recorded.peak;
  use.allocations += recorded.allocations;
  return use;
}

std::shared_ptr<const Recording> PlanMemory::record(const std::function<void()>& work) {
  struct While {
    bool& flag;
    explicit While(bool& which) : flag(which) { flag = true; }
    ~While() { flag = false; }
  } const recording(recording_);
  work();
  return std::make_shared<NothingRecorded>();
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
