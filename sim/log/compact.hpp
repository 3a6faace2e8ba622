#pragma once
// Makes a closed log smaller.

#include <string>

namespace onebit::sim {

/// Rewrites a closed log with its columns compressed (shuffle and deflate, level 1 to 9), columns that this program
/// does not know too. The log is replaced when the new one is complete and on the disk. Throws IoError; the log is then
/// as it was.
void compress_log(const std::string& path, int level);

}  // namespace onebit::sim
