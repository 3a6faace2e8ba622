#pragma once
// What can be said of a log without opening it as HDF5, which would lock it.

#include <string>

namespace onebit::sim {

/// The file is there and whole, and its writer has closed it. False as well where it is no log.
bool log_is_closed(const std::string& path);

/// Whether a writer has a log open; unknown where the file system has no locks, or the file cannot be opened.
enum class LogUse { in_use, free, unknown };
LogUse log_use(const std::string& path);
/// A writer has it open, as far as that can be known.
bool log_is_in_use(const std::string& path);

}  // namespace onebit::sim
