#pragma once
// Copies large buffers as fast as the device can, for comparison with memory-bound kernels.

#include "device/memory/buffer.hpp"

namespace onebit::device {

namespace cpu {
void copy_large(const Queue& queue, void* target, const void* source, Index bytes);
Index cache_bytes(const Queue& queue);
}  // namespace cpu
#if defined(ONEBIT_CUDA)
namespace cuda {
void copy_large(const Queue& queue, void* target, const void* source, Index bytes);
Index cache_bytes(const Queue& queue);
}  // namespace cuda
#endif

/// Copies with all threads, bypassing the caches if the processor can (streaming stores).
inline void copy_large(const Device& device, Buffer<float>& target, const Buffer<float>& source) {
  const Index bytes = source.size() * static_cast<Index>(sizeof(float));
  device.run([&](const auto& queue) { copy_large(queue, target.data(), source.data(), bytes); });
}

/// Bytes of the device's last-level cache; 32 MiB if the system does not report it.
inline Index last_level_cache(const Device& device) {
  return device.run([](const auto& queue) { return cache_bytes(queue); });
}

}  // namespace onebit::device
