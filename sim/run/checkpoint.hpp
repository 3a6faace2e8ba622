#pragma once
// Checkpoints: the whole state of a run between two steps, in a separate file next to the log. docs/checkpoints.md
// describes the file.

#include <string>
#include <vector>

#include "sim/cluster/virtual_cluster.hpp"
#include "sim/log/schema.hpp"

namespace onebit::sim {

/// State of a run that a checkpoint stores in addition to the state of its cluster.
struct RunState {
  Index log = 0;               ///< identity of the log
  LogRows rows;                ///< rows of the log up to the checkpoint
  double bytes = 0;            ///< bytes that one worker has sent so far
  double wall_seconds = 0;     ///< wall time of the steps since the last row of /steps
  double compute_seconds = 0;  ///< compute time of the same steps
  double codec_seconds = 0;    ///< codec time of the same steps
};

/// Returns the path of a checkpoint, LOG.checkpoint-STEP.
std::string checkpoint_path(const std::string& log, Index step);

struct CheckpointFile {
  std::string path;
  Index step = 0;
};

/// Finds the checkpoints of a log, newest first.
std::vector<CheckpointFile> checkpoints_of(const std::string& log);

/// Writes a checkpoint of the cluster's current step. The file has a temporary name until it is on disk and has been
/// read back. Throws IoError after removing the unfinished file. Collective over processes; the root writes the file.
void write_checkpoint(const std::string& log, VirtualCluster& cluster, RunState state);

/// Checks the file of a checkpoint. Throws ConfigError if it is truncated, damaged (its checksum does not match its
/// bytes) or not a checkpoint; IoError if reading fails.
void verify_checkpoint(const std::string& path);

/// Reads the RunState of a verified checkpoint. Throws ConfigError, or IoError if reading fails.
RunState run_state_of(const std::string& path);

/// Restores a cluster of the same configuration to the state of a verified checkpoint, on any number of devices, and
/// returns its RunState. Throws ConfigError if the configuration differs, IoError if reading fails; the cluster must
/// not be used after that.
RunState read_checkpoint(const std::string& path, VirtualCluster& cluster);

/// Removes all checkpoints of later steps, both those that an abandoned continuation left behind and unusable ones.
void remove_checkpoints_after(const std::string& log, Index step);

/// Removes all but the newest `keep` checkpoints of a log, and files that a killed program left unfinished.
void prune_checkpoints(const std::string& log, Index keep);

}  // namespace onebit::sim
