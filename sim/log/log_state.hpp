#pragma once
// Finds the state of a log without opening it as HDF5, which would lock it.

#include <sys/types.h>

#include <compare>
#include <optional>
#include <string>

namespace onebit::sim {

/// Identifies a file and its contents: if any member differs, the file has changed.
struct FileState {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  time_t changed = 0;  ///< time of the last change, in seconds
  long nanoseconds = 0;

  friend auto operator<=>(const FileState&, const FileState&) = default;
};

/// Returns the state of a file, or nullopt, with errno set, if the file cannot be examined.
std::optional<FileState> state_of(const std::string& path);

/// Whether the file exists, is not truncated, and was closed by its writer. False if the file is not HDF5.
bool log_is_closed(const std::string& path);

/// Whether a program has a log locked: its writer, a program that compresses it, or a reader (perhaps only for a
/// moment). Unknown if the file system has no locks or the file cannot be opened.
enum class LogUse { in_use, free, unknown };
LogUse log_use(const std::string& path);
/// Whether a program has a log locked, as far as that can be known.
bool log_is_in_use(const std::string& path);

}  // namespace onebit::sim
