#pragma once
// Deterministic sums whose results the host wants.

#include "device/launch/launch.hpp"

namespace onebit::device {

/// Sums of a kernel (row, segment, i) -> double, [rows][segments]. Whoever looks at them waits.
template <class Kernel>
Future<double> sums(const Device& device, Index rows, const Chunks& chunks, const Kernel& kernel) {
  Buffer<double> result(device, rows * chunks.segments());
  reduce(device, rows, chunks, kernel, result.data());
  return result.fetch();
}

/// The same of a kernel that takes packed signs, [segments].
template <class Kernel>
Future<double> sums(const Device& device, const Chunks& chunks, const SignVector& signs, const Kernel& kernel) {
  Buffer<double> result(device, chunks.segments());
  reduce_signs(device, chunks, signs, kernel, result.data());
  return result.fetch();
}

}  // namespace onebit::device
