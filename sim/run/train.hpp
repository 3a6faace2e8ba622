#pragma once
// Trains a whole run, with its evaluations, log and checkpoints. Prints nothing; RunControl may.

#include <functional>
#include <string>

#include "sim/cluster/virtual_cluster.hpp"
#include "sim/log/reader.hpp"
#include "sim/log/writer.hpp"

namespace onebit::sim {

/// Facts about a run that only the library's caller can provide.
struct RunIdentity {
  std::string program_version, git_commit, command_line;
  std::vector<std::pair<std::string, std::string>> options;  ///< every option with its value
};

/// What RunControl::on_step receives after each step.
struct Progress {
  Index step = 0;
  Index steps = 0;
  double loss = 0;
  Index samples = 0;  ///< samples of a step, of all workers together
};

struct RunControl {
  std::string memory_plan = {};            ///< MemoryPlan::text(), for the error message if memory runs out anyway
  std::function<void()> on_start = [] {};  ///< called before the first step, when the log is open
  /// Called for an unusable checkpoint, and for a log that was repaired.
  std::function<void(const std::string&)> on_warning = [](const std::string&) {};
  std::function<void(const Progress&)> on_step = [](const Progress&) {};
  std::function<bool()> stop_requested = [] { return false; };
};

/// Part of the text of a "resume" event, before the command, if the run continued with the same options.
inline constexpr const char* resumed_unchanged = " with the same options";

/// What to do with a log that already exists.
enum class Existing { refuse, replace, resume, resume_replacing };

struct RunResult {
  RunStatus status = RunStatus::running;
  std::string reason;  ///< why the run did not finish; empty if it did
};

/// Trains `cluster` until its last step, a stop request, a divergence or a failure. Logs to `path`; checkpoints are
/// written next to it. However the run ends, the log is complete up to that point. With several processes, the root
/// writes the log and the checkpoints.
///
/// Existing::resume continues the log from its newest usable checkpoint, or from the start if there is none. The result
/// is the same as that of an uninterrupted run, bit for bit. Steps that the log already has are computed again. Their
/// rows are compared with the log or, with resume_replacing, replace the rows in the log, for a run whose options have
/// changed.
///
/// Throws ConfigError if the path or the existing log cannot be used, IoError if the log or a checkpoint cannot be
/// written, and, with Existing::resume, Error if a row that is computed again differs from the log (RunLog::append).
RunResult train(VirtualCluster& cluster, const RunConfig& config, const std::string& path, Existing existing,
                const RunIdentity& identity, const RunControl& control);

/// Trains a cluster that read_checkpoint has restored, from the restored step to the last step, in one process. The new
/// log begins with the rows of `parent` up to the checkpoint; `parent` is the log of the run that this one branches off
/// from. Both must have the same groups of rows and log every step. Throws what train throws, and ConfigError if the
/// parent is shorter or has other groups of rows.
RunResult branch(VirtualCluster& cluster, const RunConfig& config, const std::string& path, const RunIdentity& identity,
                 const RunControl& control, const LogReader& parent);

}  // namespace onebit::sim
