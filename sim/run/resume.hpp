#pragma once
// Where a run that was broken off goes on.

#include <optional>

#include "sim/run/checkpoint.hpp"
#include "sim/run/run_log.hpp"

namespace onebit::sim {

/// Tells logs apart: what a checkpoint belongs to.
Index identity_of(const LogHeader& header);

struct Resumption {
  LogHeader header;                  ///< of the log
  LogRows seen;                      ///< rows that the log had
  LogRows keep;                      ///< rows that stay in the log
  std::vector<Event> events;         ///< that stay besides: events do not stand in the order of their steps
  RunState state;                    ///< after the last good checkpoint; of the start where there is none
  ExpectedRows expected;             ///< rows of the log that will be computed again
  std::vector<std::string> refused;  ///< checkpoints that were of no use, newest first, with the reason
};

/// Brings a fresh cluster to the newest checkpoint of the log `path` that is whole, or leaves it at its start. replace:
/// rows beyond it are computed anew, whatever they are. Throws ConfigError where the log is damaged, its data, tensors
/// or workers are not the cluster's, a checkpoint is of another configuration or beyond the run's end, or rows would be
/// replaced from the start on because no checkpoint is of use. Over processes collective: the one that
/// leads reads the log and says which checkpoint, all read it; only the state is of meaning in the others.
Resumption prepare_resumption(VirtualCluster& cluster, const std::string& path, bool replace);

}  // namespace onebit::sim
