#pragma once
// The one place where kernels are started on a GPU, and how large their grids are.

#include <cuda_runtime.h>

#include <algorithm>

#include "device/cuda/context.cuh"

namespace onebit::device::cuda::detail {

inline constexpr unsigned kThreads = 256;    // of a block, a multiple of the warp's 32
inline constexpr Index kMostBlocks = 65535;  // what CUDA allows in a grid's y

/// Blocks for `count` pieces of work; those beyond the cap are done by the blocks' loops.
inline unsigned blocks(Index count) {
  return static_cast<unsigned>(std::min(count, kMostBlocks));
}

/// The same for rows of chunks, a block each.
inline dim3 row_blocks(Index rows, Index chunks) {
  return {blocks(chunks), blocks(rows)};
}

/// Starts kernel(arguments...) on the queue's stream. `what` names it in errors.
template <class... Parameters>
void launch(const Queue& queue, dim3 grid, dim3 block, const std::type_info& what, void (*kernel)(Parameters...),
            std::type_identity_t<Parameters>... arguments) {
  queue.context().make_current();
  void* addresses[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  const cudaError_t status = cudaLaunchKernel(kernel, grid, block, addresses, 0, queue.context().stream());
  if (status != cudaSuccess) check_launch(what);
}

}  // namespace onebit::device::cuda::detail
