#pragma once
// Memory as the operating system reports it.

#include "device/base/types.hpp"

namespace onebit::device {

/// Bytes of host memory that this process holds.
struct ResidentMemory {
  Index own = 0;    ///< memory that the process has written
  Index files = 0;  ///< memory of mapped files: the program, its libraries, data
  Index total() const { return own + files; }
};

/// Memory that this process holds now. Returns freed memory to the system first.
ResidentMemory resident_memory();

/// Bytes of host memory that this process may still take: what is free or can be made free, within the limits of its
/// container.
Index available_memory();

}  // namespace onebit::device
