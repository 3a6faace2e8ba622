#pragma once
// Compresses a closed log.

#include <string>

namespace onebit::sim {

/// Rewrites a closed log with its columns compressed (shuffle and deflate, level 1 to 9), including columns that are
/// unknown to this program. The new log is PATH.part until it is complete and on disk; then it replaces the old one.
/// Throws ConfigError if another program is about to write to the log, IoError if reading or writing fails; the log is
/// then unchanged.
void compress_log(const std::string& path, int level);

/// Removes PATH.part if it was left by a program that was killed while it compressed the log. Does nothing if there is
/// no log, or while a program has it open.
void remove_left_part(const std::string& path);

}  // namespace onebit::sim
