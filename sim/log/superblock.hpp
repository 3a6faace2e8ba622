#pragma once
// The first bytes of an HDF5 file. Internal to sim/log.

#include <cstdint>
#include <string>

namespace onebit::sim {

inline constexpr const char* damaged_log_hint = "restore the log from a copy, or run again";

/// The state of a file according to its superblock. It gives one dependable answer, while HDF5 reports damage in many
/// different ways; under SWMR, HDF5 would even read zeros beyond the end of a truncated file.
struct Superblock {
  bool being_written = false;  ///< whether a SWMR writer is still running or was killed
  std::uint64_t end = 0;       ///< bytes that the file should have; 0 if unknown
  std::uint64_t size = 0;      ///< bytes that it has

  /// Whether bytes are missing at the end of the file: a copy was cut off, or a writer could not write them (full disk,
  /// a limit on the size of files).
  bool is_truncated() const { return end > size; }
};

/// Reads the superblock. Throws ConfigError if the file is missing, not a regular file, unreadable, empty, not HDF5, or
/// truncated although its writer has closed it.
Superblock read_superblock(const std::string& path);

/// Throws a ConfigError that says that the file is truncated.
[[noreturn]] void refuse_truncated(const Superblock& superblock, const std::string& path);

}  // namespace onebit::sim
