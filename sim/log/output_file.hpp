#pragma once
// The file that a log is written to: creation, replacement, and a lock that keeps other writers away. HDF5 releases its
// own lock when SWMR starts, and would truncate a file before checking whether another program has it open. Internal to
// sim/log.

#include <functional>
#include <string>

#include "sim/log/descriptor.hpp"
#include "sim/log/h5.hpp"

namespace onebit::sim {

/// Throws ConfigError if `path` must not be replaced: if a file exists and `overwrite` is false, and in any case if a
/// program has the file open or if `path` is something other than a regular file.
void check_replaceable(const std::string& path, bool overwrite);

/// Returns the temporary name PATH.part, under which a log or another HDF5 output is written.
std::string part_of(const std::string& path);

/// Creates a file under a temporary name. First removes a link of that name, or a file of that name that a killed
/// program has left (unless a program has it open); links are never followed. Throws ConfigError.
h5::Object create_part(const std::string& path, h5::Space space = h5::Space::packed);

/// Creates the file of a log as PATH.part, so that nobody sees it before its header is complete. Throws ConfigError if
/// PATH or PATH.part exists and must not be replaced. Messages name PATH.
h5::Object create_unnamed(const std::string& path, bool overwrite);
/// Renames the file of create_unnamed() to PATH. overwrite: replaces an existing log, unless a program has it open.
/// Throws ConfigError if PATH must not be replaced or the renaming fails, and IoError if PATH.part is no longer that
/// file.
void give_name(const h5::Object& file, bool overwrite);

/// Calls replace() while no other program can begin to use the file. replace() returns 0, or -1 with errno set. Throws
/// ConfigError if replace() fails or if a program has the file open.
void replace_unused(const std::string& path, const std::function<int()>& replace);

/// Waits until the open file is on the disk. Throws IoError.
void synchronize_file(const h5::Object& file);

/// Opens a log to be continued by this program alone. Throws ConfigError if another program has it open.
h5::Object open_output(const std::string& path);

/// Keeps a closed log from being replaced or continued. The constructor throws ConfigError if another program is about
/// to replace or continue it.
class SharedLock {
 public:
  explicit SharedLock(const std::string& path);

 private:
  Descriptor own_;
};

/// Keeps others from replacing or continuing a log while its writer closes it and checks it once more.
class ClosedLog {
 public:
  /// Locks the log; to be constructed before the log is closed. Throws IoError if the path no longer names that file.
  explicit ClosedLog(const h5::Object& file);

  /// Writes a few bytes in place, bypassing HDF5, waits until they are on disk, and reads them back. Throws IoError.
  void write(Index place, const std::string& bytes) const;

 private:
  [[noreturn]] void fail(const std::string& why) const;

  Descriptor own_;
  std::string path_;
};

/// Lets others read a new file while it is being written. Keeps a shared lock until the file is closed, so that nobody
/// gets an exclusive one. Every dataset and attribute must already exist. Throws IoError.
void start_swmr(const h5::Object& file);

/// Removes the file if its path, or PATH.part, still names it. Once the file is closed this cannot be
/// checked, and whatever is at its path is removed.
void remove_output(const h5::Object& file) noexcept;

}  // namespace onebit::sim
