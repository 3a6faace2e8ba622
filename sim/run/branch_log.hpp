#pragma once
// The beginning of a log whose run branches off from another one.

#include "sim/log/reader.hpp"
#include "sim/log/writer.hpp"

namespace onebit::sim {

/// Throws ConfigError where a run with this header cannot branch off from `parent` after `step` steps: the two logs
/// would have different groups of rows or data, or the parent is shorter.
void check_parent(const LogReader& parent, const LogHeader& header, Index step);

/// Copies all rows of `parent` up to `step`; returns the bytes that their exchanges sent.
double copy_log(const LogReader& parent, Index step, LogWriter& log);

}  // namespace onebit::sim
