#pragma once
// The file that a log is written to: creation, replacement, and a lock that keeps other writers away. HDF5 gives its
// own lock up when SWMR starts, and would truncate a file before it asks who has it open. Internal to sim/log.

#include <string>

#include "sim/log/h5.hpp"

namespace onebit::sim {

/// Creates the file; overwrite: after removing the one that is there, unless a program has it open.
/// Throws ConfigError.
h5::Object create_output(const std::string& path, bool overwrite);

/// Lets readers in and keeps a shared lock, which stops whoever asks for an exclusive one, until the file is closed.
/// Every dataset and attribute must exist. Throws IoError.
void start_swmr(const h5::Object& file);

/// Removes the file, if its path still names it.
void remove_output(const h5::Object& file) noexcept;

}  // namespace onebit::sim
