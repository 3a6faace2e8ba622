#pragma once
// Functions that the emulated runtime and its cuBLAS share, and functions with which tests control emulated GPUs.

#include <functional>

#include "device/base/types.hpp"
#include "tests/emulator/cuda_runtime_api.h"

namespace onebit::emulator {

/// Appends work to the stream. It is done when something waits for the stream.
void enqueue(cudaStream_t stream, std::function<void()> work);

/// Sets the size of a GPU's memory.
void set_memory(int ordinal, std::size_t bytes);

/// Returns how many allocations of GPU memory and of pinned memory there have been.
Index allocations();

/// Lets the next `count` allocations succeed, and all later ones fail. -1: lets all succeed.
void fail_allocations_after(Index count);

/// Returns how often the GPUs have run out of work because the host waited for them.
Index drains();

/// Returns how often a graph has been started.
Index graph_launches();

/// Makes every later call for this GPU fail, as after an uncorrectable memory error. With `lost` false, makes the GPU
/// work again.
void lose(int ordinal, bool lost = true);

}  // namespace onebit::emulator
