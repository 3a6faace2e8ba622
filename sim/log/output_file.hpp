#pragma once
// The file that a log is written to: creation, replacement, and a lock that keeps other writers away. HDF5 gives its
// own lock up when SWMR starts, and would truncate a file before it asks who has it open. Internal to sim/log.

#include <string>

#include "sim/log/descriptor.hpp"
#include "sim/log/h5.hpp"

namespace onebit::sim {

/// Throws ConfigError where something stands at `path` that must not be replaced: a file, unless overwrite; one that a
/// program has open; anything but a regular file.
void check_replaceable(const std::string& path, bool overwrite);

/// Creates the file; overwrite: after removing the one that is there, unless a program has it open.
/// Throws ConfigError.
h5::Object create_output(const std::string& path, bool overwrite);

/// Creates the file of a log next to its place, PATH.part, so that nobody sees it before it is complete. Throws
/// ConfigError where something is in the way of either. Messages name PATH.
h5::Object create_unnamed(const std::string& path, bool overwrite);
/// Gives that file its name; overwrite: instead of the one that is there, unless a program has it open. Throws
/// ConfigError.
void give_name(const h5::Object& file, bool overwrite);

/// Waits until the open file is on the disk. Throws IoError.
void synchronize_file(const h5::Object& file);

/// Opens a log that is to be continued, for this program alone. Throws ConfigError where another one has it open.
h5::Object open_output(const std::string& path);

/// Keeps a closed log from being replaced or continued. Throws ConfigError where somebody is about to.
class SharedLock {
 public:
  explicit SharedLock(const std::string& path);

 private:
  Descriptor own_;
};

/// A log whose rows have been written, kept from being replaced or continued while its writer looks at it once more.
class ClosedLog {
 public:
  /// To be taken before the log is closed. Throws IoError where the path does not name it any more.
  explicit ClosedLog(const std::string& path);

  /// Writes a few bytes in place, around HDF5, waits until they are on the disk, and reads them. Throws IoError.
  void write(Index place, const std::string& bytes) const;

 private:
  [[noreturn]] void fail(const std::string& why) const;

  Descriptor own_;
  std::string path_;
};

/// Lets readers of a new file in and keeps a shared lock, which stops whoever asks for an exclusive one, until the file
/// is closed. Every dataset and attribute must exist. Throws IoError.
void start_swmr(const h5::Object& file);

/// Removes the file, if its path still names it. A temporary one may have been closed.
void remove_output(const h5::Object& file) noexcept;

}  // namespace onebit::sim
