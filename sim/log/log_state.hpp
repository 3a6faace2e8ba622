#pragma once
// Finds the state of a log without opening it as HDF5, which would lock it.

#include <string>

namespace onebit::sim {

/// Whether the file exists, is not truncated, and was closed by its writer. False if the file is not HDF5.
bool log_is_closed(const std::string& path);

/// Whether a writer has a log open; unknown if the file system has no locks or the file cannot be opened.
enum class LogUse { in_use, free, unknown };
LogUse log_use(const std::string& path);
/// Whether a writer has a log open, as far as that can be known.
bool log_is_in_use(const std::string& path);

}  // namespace onebit::sim
