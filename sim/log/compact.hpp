#pragma once
// Compresses a closed log.

#include <string>

namespace onebit::sim {

/// Rewrites a closed log with its columns compressed (shuffle and deflate, level 1 to 9), including columns that this
/// program does not know. The log is replaced when the new one is complete and on disk. Throws ConfigError if another
/// program is about to write to it, IoError if reading or writing fails; the log is then unchanged.
void compress_log(const std::string& path, int level);

}  // namespace onebit::sim
