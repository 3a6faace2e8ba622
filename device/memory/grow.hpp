#pragma once
// Grows buffers that are kept from step to step.

#include "device/memory/buffer.hpp"

namespace onebit::device {

/// Grows a buffer to at least `size` elements; its contents are lost if it has to grow.
template <class T>
void grow(Buffer<T>& buffer, const Device& device, Index size) {
  if (buffer.size() < size) buffer = Buffer<T>(device, size);
}

}  // namespace onebit::device
