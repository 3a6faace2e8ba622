#pragma once
// Starts kernels on a GPU, and chooses the sizes of their grids. Kernels are started nowhere else.

#include <cuda_runtime.h>

#include <algorithm>

#include "device/cuda/context.cuh"

namespace onebit::device::cuda::detail {

inline constexpr unsigned kThreads = 256;    // threads of a block, a multiple of a warp's 32
inline constexpr Index kMostBlocks = 65535;  // CUDA's limit for a grid's y

/// Returns the number of blocks for `count` pieces of work. The blocks' loops handle the pieces beyond the limit.
inline unsigned blocks(Index count) {
  return static_cast<unsigned>(std::min(count, kMostBlocks));
}

/// Returns the grid for rows of chunks, with a block for each chunk of each row. The blocks of one chunk in all rows
/// come before those of the next chunk, so that what the rows share is read from the caches.
inline dim3 row_blocks(Index rows, Index chunks) {
  return {blocks(rows), blocks(chunks)};
}

/// Returns the number of blocks of `threads` threads that run at the same time if the GPU does nothing else. Returns 1
/// if CUDA reports 0: the launch then fails, and its error gives the reason.
template <class... Parameters>
Index resident_blocks(const Queue& queue, void (*kernel)(Parameters...), Index threads) {
  queue.context().make_current();
  int processors = 0, blocks = 0;
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, queue.context().ordinal()),
        "cudaDeviceGetAttribute");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads), 0),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return std::max<Index>(1, Index{processors} * Index{blocks});
}

/// Starts kernel(arguments...) on the queue's stream. `what` names the kernel in errors.
template <class... Parameters>
void launch(const Queue& queue, dim3 grid, dim3 block, const std::type_info& what, void (*kernel)(Parameters...),
            std::type_identity_t<Parameters>... arguments) {
  queue.context().make_current();
  void* addresses[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  const Context& context = queue.context();
  context.with_memory(what, [&] { return cudaLaunchKernel(kernel, grid, block, addresses, 0, context.stream()); });
}

/// Starts a kernel whose blocks wait for each other. Returns false if the GPU does not run all of them at once: under
/// compute-sanitizer it may run fewer than resident_blocks().
template <class... Parameters>
bool launch_together(const Queue& queue, dim3 grid, dim3 block, const std::type_info& what,
                     void (*kernel)(Parameters...), std::type_identity_t<Parameters>... arguments) {
  queue.context().make_current();
  void* addresses[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  const Context& context = queue.context();
  bool fits = true;
  context.with_memory(what, [&] {
    const cudaError_t status = cudaLaunchCooperativeKernel(kernel, grid, block, addresses, 0, context.stream());
    fits = status != cudaErrorCooperativeLaunchTooLarge;
    if (fits) return status;
    ignore(status);
    return cudaSuccess;
  });
  return fits;
}

}  // namespace onebit::device::cuda::detail
