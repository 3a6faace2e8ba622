#pragma once
// What the first bytes of an HDF5 file say. Internal to sim/log.

#include <string>

namespace onebit::sim {

inline constexpr const char* damaged_log_hint = "restore it from a copy, or run again";

/// A dependable answer where HDF5 has a dozen different ones. Opening under SWMR would even read the missing end of a
/// truncated file as zeros.
struct Superblock {
  bool being_written = false;  ///< a SWMR writer is at work, or was killed
};

/// Throws ConfigError where the file is missing, no file, unreadable, empty, not HDF5, or truncated.
Superblock read_superblock(const std::string& path);

}  // namespace onebit::sim
