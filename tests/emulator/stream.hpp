#pragma once
// What the emulated runtime and its cuBLAS share, and what tests may do to emulated GPUs.

#include <functional>

#include "device/base/types.hpp"
#include "tests/emulator/cuda_runtime_api.h"

namespace onebit::emulator {

/// Puts work after that of the stream. It is done when the stream is waited for.
void enqueue(cudaStream_t stream, std::function<void()> work);

/// Bytes that a GPU can give from now on.
void set_memory(int ordinal, std::size_t bytes);

/// How often the GPUs have run out of work because the host waited for them.
Index drains();

/// How often a graph has been started.
Index graph_launches();

/// From now on every call for this GPU fails, as after an uncorrectable error of its memory; false: it works again.
void lose(int ordinal, bool lost = true);

}  // namespace onebit::emulator
