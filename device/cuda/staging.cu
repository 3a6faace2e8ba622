#include "device/cuda/staging.cuh"

#include <algorithm>
#include <cstring>

namespace onebit::device::cuda {

Staging::~Staging() {
  if (memory_ != nullptr) ignore(cudaFreeHost(memory_));
}

/// Waits until the GPU has read what the slot held. Returns the slot's memory.
std::byte* Staging::wait_for(std::size_t slot) {
  if (memory_ == nullptr) {
    void* memory = nullptr;
    check(cudaMallocHost(&memory, static_cast<std::size_t>(kSlot) * kSlots), "cudaMallocHost");
    memory_ = static_cast<std::byte*>(memory);
  }
  if (read_[slot].get() == nullptr) {
    check(cudaEventCreateWithFlags(read_[slot].out(), cudaEventDisableTiming), "cudaEventCreateWithFlags");
  } else {
    check(cudaEventSynchronize(read_[slot].get()), "cudaEventSynchronize");
  }
  return memory_ + static_cast<Index>(slot) * kSlot;
}

void Staging::upload(void* target, const void* source, Index bytes, cudaStream_t stream) {
  for (Index first = 0; first < bytes; first += kSlot) {
    const auto count = static_cast<std::size_t>(std::min(kSlot, bytes - first));
    std::byte* memory = wait_for(next_);
    std::memcpy(memory, static_cast<const std::byte*>(source) + first, count);
    check(cudaMemcpyAsync(static_cast<std::byte*>(target) + first, memory, count, cudaMemcpyHostToDevice, stream),
          "cudaMemcpyAsync");
    check(cudaEventRecord(read_[next_].get(), stream), "cudaEventRecord");
    next_ = (next_ + 1) % kSlots;
  }
}

}  // namespace onebit::device::cuda
