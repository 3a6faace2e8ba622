#pragma once
// Makes a damaged log usable again.

#include <optional>
#include <string>

#include "device/base/error.hpp"

namespace onebit::sim {

/// Error for a log that is damaged and cannot be repaired. The message says what is wrong with the log.
class NotRepairable : public ConfigError {
  using ConfigError::ConfigError;
};

/// Reads every row of a log. If that fails (after a power failure during a write, for example) but a checkpoint of the
/// log is intact, replaces the log with one that has the rows up to the newest intact checkpoint. The damaged log is
/// kept as PATH.damaged (PATH.damaged-2 and so on if that exists). A floating-point column that cannot be read is NaN
/// in the new log. Returns a sentence that reports the repair, or nothing if the log is sound. The middle part of the
/// sentence is also recorded as an event in the new log. Throws NotRepairable if there is no intact checkpoint, or if
/// the header, the strings or a column of integers cannot be read; ConfigError if another program has the log open;
/// IoError if reading or writing fails.
std::optional<std::string> repair_log(const std::string& path);

}  // namespace onebit::sim
