#pragma once
// Finds where an interrupted run continues.

#include <optional>

#include "sim/run/checkpoint.hpp"
#include "sim/run/run_log.hpp"

namespace onebit::sim {

/// Returns a number that identifies a log. A checkpoint stores the number of the log that it belongs to.
Index identity_of(const LogHeader& header);

/// Whether a log has the rows that a checkpoint counts, except events, which may have been replaced.
bool holds(const LogRows& log, const LogRows& rows);

/// Returns why a checkpoint of a log cannot be used; empty if it can.
std::string defect_of_checkpoint(const std::string& path, const LogReader& log);

struct Resumption {
  LogHeader header;  ///< header of the log
  LogRows seen;      ///< rows found in the log
  LogRows keep;      ///< rows that stay in the log
  /// Events beyond the number in `keep` that also stay in the log, because they belong to the checkpoint's step or an
  /// earlier one. (A log's events are not sorted by step.)
  std::vector<Event> events;
  RunState state;                     ///< state at the newest usable checkpoint, or at the start if there is none
  ExpectedRows expected;              ///< rows of the log that the run will compute again
  std::vector<std::string> warnings;  ///< what was repaired, and why newer checkpoints cannot be used, newest first
};

/// Brings a fresh cluster to the newest usable checkpoint of the log `path`, or leaves it at its start if there is
/// none. A damaged log is repaired first (repair_log). replace: later rows are discarded and computed again, even if
/// they then differ. Throws ConfigError if the log is found damaged when it is opened; if its data, tensors or workers
/// are not the cluster's; if the checkpoint has another configuration or lies beyond the run's end; or if all rows
/// would be replaced because no checkpoint is usable. Throws IoError if rows of the log are damaged. Collective over
/// processes: the root reads the log and chooses the checkpoint, and all processes read that checkpoint; in processes
/// other than the root, only the state is meaningful.
Resumption prepare_resumption(VirtualCluster& cluster, const std::string& path, bool replace);

}  // namespace onebit::sim
