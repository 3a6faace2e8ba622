#pragma once
// Deterministic sums whose results go to the host.

#include "device/launch/launch.hpp"

namespace onebit::device {

/// Sums of a kernel (row, segment, i) -> double, [rows][segments]. Reading them waits for the device.
template <class Kernel>
Future<double> sums(const Device& device, Index rows, const Chunks& chunks, const Kernel& kernel) {
  Buffer<double> result(device, rows * chunks.segments());
  reduce(device, rows, chunks, kernel, result.data());
  return result.fetch();
}

/// Sums of a kernel that takes packed signs (reduce_signs), [segments].
template <class Kernel>
Future<double> sums(const Device& device, const Chunks& chunks, const SignVector& signs, const Kernel& kernel) {
  Buffer<double> result(device, chunks.segments());
  reduce_signs(device, chunks, signs, kernel, result.data());
  return result.fetch();
}

}  // namespace onebit::device
