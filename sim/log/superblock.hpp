#pragma once
// The first bytes of an HDF5 file. Internal to sim/log.

#include <string>

namespace onebit::sim {

inline constexpr const char* damaged_log_hint = "restore the log from a copy, or run again";

/// The state of a file according to its superblock. It gives one dependable answer, while HDF5 reports damage in many
/// different ways; under SWMR, HDF5 would even read zeros beyond the end of a truncated file.
struct Superblock {
  bool being_written = false;  ///< whether a SWMR writer is still running or was killed
};

/// Reads the superblock. Throws ConfigError if the file is missing, not a regular file, unreadable, empty, not HDF5, or
/// truncated.
Superblock read_superblock(const std::string& path);

}  // namespace onebit::sim
