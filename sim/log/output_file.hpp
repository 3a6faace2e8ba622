#pragma once
// The file that a log is written to: creation, replacement, and a lock that keeps other writers away. HDF5 gives its
// own lock up when SWMR starts, and would truncate a file before it asks who has it open. Internal to sim/log.

#include <string>

#include "sim/log/descriptor.hpp"
#include "sim/log/h5.hpp"

namespace onebit::sim {

/// Creates the file; overwrite: after removing the one that is there, unless a program has it open.
/// Throws ConfigError.
h5::Object create_output(const std::string& path, bool overwrite);

/// Creates the file of a log beside its place, PATH.part, so that nobody sees it before it is complete. Throws
/// ConfigError where something is in the way of either. Messages name PATH.
h5::Object create_unnamed(const std::string& path, bool overwrite);
/// Gives that file its name; overwrite: instead of the one that is there, unless a program has it open. Throws
/// ConfigError.
void give_name(const h5::Object& file, bool overwrite);

/// Waits until the file is on the disk, open or closed, with its name. Throws IoError.
void synchronize_file(const h5::Object& file);
void synchronize_path(const std::string& path);
void synchronize_folder_of(const std::string& path);

/// Opens a log that is to be continued, for this program alone. Throws ConfigError where another one has it open.
h5::Object open_output(const std::string& path);

/// Keeps a closed log from being replaced or continued. Throws ConfigError where somebody is about to.
class SharedLock {
 public:
  explicit SharedLock(const std::string& path);

 private:
  Descriptor own_;
};

/// Lets readers of a new file in and keeps a shared lock, which stops whoever asks for an exclusive one, until the file
/// is closed. Every dataset and attribute must exist. Throws IoError.
void start_swmr(const h5::Object& file);

/// Removes the file, if its path still names it.
void remove_output(const h5::Object& file) noexcept;

}  // namespace onebit::sim
