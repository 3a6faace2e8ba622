#pragma once
// Deterministic sums whose results go to the host.

#include "device/launch/launch.hpp"

namespace onebit::device {

/// Returns the sums [rows][segments] of a kernel (row, segment, i) -> double. Reading them waits for the device.
template <class Kernel>
Future<double> sums(const Device& device, Index rows, const Chunks& chunks, const Kernel& kernel) {
  Buffer<double> result(device, rows * chunks.segments());
  reduce(device, rows, chunks, kernel, result.data());
  return result.fetch();
}

/// Returns the sums [segments] of a kernel that takes packed signs (reduce_signs).
template <class Kernel>
Future<double> sums(const Device& device, const Chunks& chunks, const SignVector& signs, const Kernel& kernel) {
  Buffer<double> result(device, chunks.segments());
  reduce_signs(device, chunks, signs, kernel, result.data());
  return result.fetch();
}

}  // namespace onebit::device
