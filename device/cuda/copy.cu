#include "device/memory/copy.hpp"

#include "device/cuda/context.cuh"

namespace onebit::device::cuda {

void copy_large(const Queue& queue, void* target, const void* source, Index bytes) {
  if (bytes == 0) return;
  const Context& context = queue.context();
  context.make_current();
  check(cudaMemcpyAsync(target, source, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, context.stream()),
        "cudaMemcpyAsync");
}

Index cache_bytes(const Queue& queue) {
  int bytes = 0;
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, queue.context().ordinal()), "cudaDeviceGetAttribute");
  return bytes;
}

}  // namespace onebit::device::cuda
