#pragma once
// What the operating system says of memory.

#include "device/base/types.hpp"

namespace onebit::device {

/// Bytes of host memory that this process holds.
struct ResidentMemory {
  Index own = 0;    ///< that it has written
  Index files = 0;  ///< of mapped files: its code, its libraries, data
  Index total() const { return own + files; }
};

/// What is held now. What was freed is given back before.
ResidentMemory resident_memory();

/// Bytes of host memory that it may still take: what is free or can be made free, within the limits of its container.
Index available_memory();

}  // namespace onebit::device
