#pragma once
// What the operating system says of memory.

#include "device/types.hpp"

namespace onebit::device {

/// Bytes of host memory that this process holds now.
Index resident_memory();

/// Bytes of host memory that it may still take: what is free or can be made free, within the limits of its container.
Index available_memory();

}  // namespace onebit::device
