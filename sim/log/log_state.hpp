#pragma once
// What can be said of a log without opening it as HDF5, which would lock it.

#include <string>

namespace onebit::sim {

/// The file is there and whole, and its writer has closed it. False as well where it is no log.
bool log_is_closed(const std::string& path);

/// A writer has it open. False where the file system has no locks.
bool log_is_in_use(const std::string& path);

}  // namespace onebit::sim
