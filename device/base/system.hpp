#pragma once
// Memory and processor as the operating system reports them.

#include <string>

#include "device/base/types.hpp"

namespace onebit::device {

/// Bytes of host memory that this process occupies.
struct ResidentMemory {
  Index own = 0;    ///< memory that the process has written
  Index files = 0;  ///< memory of mapped files: the program, its libraries, data
  Index total() const { return own + files; }
};

/// Measures the memory that this process occupies now, after returning freed memory to the system.
ResidentMemory resident_memory();

/// Bytes of host memory that this process may still take: what is free or can be made free, within the limits of its
/// container.
Index available_memory();

/// Returns the name of the processor's model; empty if the system does not report it.
std::string processor_name();

/// Describes devices and the threads that serve them, for logs: "cpu, 2 threads of AMD EPYC 7763".
std::string devices_text(const std::string& devices, Index threads);

}  // namespace onebit::device
