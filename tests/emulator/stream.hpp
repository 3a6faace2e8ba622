#pragma once
// Functions that the emulated runtime and its cuBLAS share, and functions with which tests control emulated GPUs.

#include <functional>

#include "device/base/types.hpp"
#include "tests/emulator/cuda_runtime_api.h"

namespace onebit::emulator {

/// Appends the work of a library, such as a product, to the stream. It is done when something waits for the stream.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);

/// Sets the size of a GPU's memory.
void set_memory(int ordinal, std::size_t bytes);

/// Returns how many allocations of GPU memory and of pinned memory there have been.
Index allocations();

/// Lets the next `count` allocations succeed, and all later ones fail. -1: lets all succeed.
void fail_allocations_after(Index count);

/// Gives products the CPU's bits for its lifetime. Otherwise a product is the sum of two halves, as cuBLAS's have bits
/// of their own.
class CpuProducts {
 public:
  CpuProducts();
  ~CpuProducts();
  CpuProducts(const CpuProducts&) = delete;
  CpuProducts& operator=(const CpuProducts&) = delete;
};

/// Returns how often the GPUs have run out of work because the host waited for them.
Index drains();

/// Returns how often a graph has been started.
Index graph_launches();

/// Makes every later call for this GPU fail, as after an uncorrectable memory error. With `lost` false, makes the GPU
/// work again.
void lose(int ordinal, bool lost = true);

/// Makes every later call for this GPU, or that of the stream, fail for this reason, as after an error of a kernel;
/// cudaSuccess makes the GPU work again.
void fail(int ordinal, cudaError_t reason);
void fail(cudaStream_t stream, cudaError_t reason);

/// Makes the GPU's pool, and its graphs that are gone, keep this many unused bytes until they are trimmed.
void keep_unused(int ordinal, std::size_t in_pool, std::size_t by_graphs);

/// Lets kernels and products of this GPU start only while this many bytes are free, as if each had to load its code.
void need_memory_to_start(int ordinal, std::size_t bytes);

/// Sets how many blocks of a cooperative launch GPUs run at once, whatever they say about the occupancy. Under
/// compute-sanitizer a GPU may run fewer than it says.
void set_blocks_together(int blocks = kProcessors * kBlocksPerProcessor);

}  // namespace onebit::emulator
