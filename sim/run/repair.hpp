#pragma once
// Makes a damaged log usable again.

#include <optional>
#include <string>

namespace onebit::sim {

/// Reads every row of a log. If that fails although a checkpoint of the log is intact (a write was torn by a power
/// failure, say), replaces the log by one with the rows up to the newest such checkpoint and keeps the damaged one as
/// PATH.damaged. A floating-point column that cannot be read is NaN in the new log. Returns a sentence that says so,
/// which is also an event of the new log; nothing if the log is sound. Throws the error of the first attempt if the
/// log is in use, if there is no such checkpoint, or if its header, its strings or a column of integers cannot be read.
std::optional<std::string> repair_log(const std::string& path);

}  // namespace onebit::sim
