#pragma once
// What the emulated runtime and its cuBLAS share, and what tests can do to emulated GPUs.

#include <functional>

#include "device/base/types.hpp"
#include "tests/emulator/cuda_runtime_api.h"

namespace onebit::emulator {

/// Adds work at the end of the stream. It is done when something waits for the stream.
void enqueue(cudaStream_t stream, std::function<void()> work);

/// Sets the number of bytes that a GPU can allocate.
void set_memory(int ordinal, std::size_t bytes);

/// Returns how often a GPU has run out of work because the host waited for it.
Index drains();

/// Returns how often a graph has been launched.
Index graph_launches();

/// Makes every later call for this GPU fail, as after an uncorrectable memory error; false: makes it work again.
void lose(int ordinal, bool lost = true);

}  // namespace onebit::emulator
