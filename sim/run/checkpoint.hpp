#pragma once
// Checkpoints: the whole state of a run between two steps, in a file of its own next to the log. See
// docs/checkpoints.md for the file.

#include <string>
#include <vector>

#include "sim/cluster/virtual_cluster.hpp"
#include "sim/log/schema.hpp"

namespace onebit::sim {

/// What a checkpoint holds besides the cluster.
struct RunState {
  Index log = 0;            ///< identity of the log
  LogRows rows;             ///< of the log, up to the checkpoint
  double bytes = 0;         ///< sent by one worker so far
  double wall_seconds = 0;  ///< of the steps since the last row of /steps
  double compute_seconds = 0;
  double codec_seconds = 0;
};

/// LOG.checkpoint-STEP
std::string checkpoint_path(const std::string& log, Index step);

struct CheckpointFile {
  std::string path;
  Index step = 0;
};

/// Those of a log, the newest first.
std::vector<CheckpointFile> checkpoints_of(const std::string& log);

/// Writes the checkpoint of the cluster's step: under a temporary name, synchronised, renamed. Throws IoError; an
/// unfinished file is removed then. Over processes collective; the one that leads writes.
void write_checkpoint(const std::string& log, VirtualCluster& cluster, RunState state);

/// Throws ConfigError where the file is truncated, damaged (its checksum is not that of its bytes) or none.
void verify_checkpoint(const std::string& path);

/// What a verified checkpoint says besides the cluster. Throws ConfigError.
RunState run_state_of(const std::string& path);

/// Brings a cluster of the same configuration to the state of a verified checkpoint, on any number of devices. Throws
/// ConfigError where the configuration is another one; the cluster is then of no use any more.
RunState read_checkpoint(const std::string& path, VirtualCluster& cluster);

/// Removes those of later steps: of runs that went another way, or of no use.
void remove_checkpoints_after(const std::string& log, Index step);

/// Removes all but the newest `keep` checkpoints of a log, and files that a killed program left unfinished.
void prune_checkpoints(const std::string& log, Index keep);

}  // namespace onebit::sim
