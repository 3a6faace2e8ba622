#pragma once
// Deterministic sums as optimizers use them.

#include <numeric>

#include "device/launch.hpp"

namespace onebit::optim {

/// Sums of a kernel (row, segment, i) -> double, [rows][segments] in host memory.
template <class Kernel>
std::vector<double> sums(const device::Device& device, Index rows, const device::Chunks& chunks, const Kernel& kernel) {
  device::Buffer<double> result(device, rows * chunks.segments());
  reduce(device, rows, chunks, kernel, result.data());
  return result.to_host();
}

inline double total(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace onebit::optim
