#pragma once
// The first bytes of an HDF5 file. Internal to sim/log.

#include <string>

namespace onebit::sim {

inline constexpr const char* damaged_log_hint = "restore it from a copy, or run again";

/// What the superblock says of a file: one dependable answer where HDF5 has a dozen different ones. Opened under SWMR,
/// a truncated file would even read as zeros beyond its end.
struct Superblock {
  bool being_written = false;  ///< a SWMR writer is at work, or was killed
};

/// Reads the superblock. Throws ConfigError if the file is missing, not a regular file, unreadable, empty, not HDF5, or
/// truncated.
Superblock read_superblock(const std::string& path);

}  // namespace onebit::sim
