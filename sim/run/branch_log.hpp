#pragma once
// Begins the log of a run that branches off from another run.

#include "sim/log/reader.hpp"
#include "sim/log/writer.hpp"

namespace onebit::sim {

/// Throws ConfigError if a run with this header cannot branch off from `parent` after `step` steps, because the two
/// logs differ in their groups of rows or their data, or because the parent is shorter.
void check_parent(const LogReader& parent, const LogHeader& header, Index step);

/// Copies all rows of `parent` up to `step`. Returns the bytes that one worker sent in these steps.
double copy_log(const LogReader& parent, Index step, LogWriter& log);

}  // namespace onebit::sim
