#pragma once
// A whole run: steps, evaluations, log. Prints nothing; an observer may.

#include <functional>
#include <string>

#include "sim/cluster/virtual_cluster.hpp"
#include "sim/log/reader.hpp"
#include "sim/log/writer.hpp"

namespace onebit::sim {

/// Facts of a run that the library cannot know.
struct RunIdentity {
  std::string program_version, git_commit, command_line;
  std::vector<std::pair<std::string, std::string>> options;  ///< every option with its final value
};

/// What RunControl::on_step is told after each step.
struct Progress {
  Index step = 0;
  Index steps = 0;
  double loss = 0;
  double samples_per_second = 0;
};

struct RunControl {
  std::string memory_plan = {};  ///< what the run was to take, in words: for the error if memory runs out anyway
  std::function<void()> on_start = [] {};  ///< called when the log is open, before the first step
  std::function<void(const std::string&)> on_warning = [](const std::string&) {};  ///< about an unusable checkpoint
  std::function<void(const Progress&)> on_step = [](const Progress&) {};
  std::function<bool()> stop_requested = [] { return false; };
};

/// What happens to a log that already exists.
enum class Existing { refuse, replace, resume, resume_replacing };

struct RunResult {
  RunStatus status = RunStatus::running;
  std::string reason;  ///< why it did not finish; empty for finished
};

/// Trains `cluster` to its end, to a stop request, a divergence or a failure, and logs to `path`, with checkpoints next
/// to it. However it ends, the log is complete up to that point. With several processes the root writes log and
/// checkpoints.
///
/// Existing::resume continues the log from its newest good checkpoint, or from the start if there is none: the result
/// is that of an uninterrupted run, bit for bit. Steps that the log already has are computed again and compared with
/// it; resume_replacing writes them anew, for a run whose options have changed.
///
/// Throws ConfigError (path; a log that does not match), IoError (log or checkpoint cannot be written), and with
/// Existing::resume Error if a row that is computed again differs from the log (RunLog::append).
RunResult train(VirtualCluster& cluster, const RunConfig& config, const std::string& path, Existing existing,
                const RunIdentity& identity, const RunControl& control);

/// Trains a cluster that read_checkpoint has brought to some step, to its end and in one process. The new log begins
/// with the rows up to that step of `parent`, the log of the run that it branches off from: both have the same groups
/// of rows, and every step is logged. Throws what train throws, and ConfigError for a parent that is shorter or has
/// other rows.
RunResult branch(VirtualCluster& cluster, const RunConfig& config, const std::string& path, const RunIdentity& identity,
                 const RunControl& control, const LogReader& parent);

}  // namespace onebit::sim
