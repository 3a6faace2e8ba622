#pragma once
// Deterministic sums whose results the host wants.

#include <vector>

#include "device/launch.hpp"

namespace onebit::device {

/// Sums of a kernel (row, segment, i) -> double, [rows][segments] in host memory.
template <class Kernel>
std::vector<double> sums(const Device& device, Index rows, const Chunks& chunks, const Kernel& kernel) {
  Buffer<double> result(device, rows * chunks.segments());
  reduce(device, rows, chunks, kernel, result.data());
  return result.to_host();
}

}  // namespace onebit::device
