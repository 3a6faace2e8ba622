#pragma once
// Compresses a closed log.

#include <string>

namespace onebit::sim {

/// Rewrites a closed log with its columns compressed (shuffle and deflate, level 1 to 9), including columns that this
/// program does not know. The new log replaces the old one once it is complete and on disk. Throws ConfigError if
/// another program is about to write to the log, IoError if reading or writing fails; the log is then unchanged.
void compress_log(const std::string& path, int level);

}  // namespace onebit::sim
