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

/// Called after each step.
struct Progress {
  Index step = 0;
  Index steps = 0;
  double loss = 0;
  double samples_per_second = 0;
};

struct RunControl {
  std::string memory_plan = {};  ///< what the run was to take, in words: for when memory runs out all the same
  std::function<void()> on_start = [] {};  ///< once the log is open, before the first step
  std::function<void(const std::string&)> on_warning = [](const std::string&) {};  ///< a checkpoint that was of no use
  std::function<void(const Progress&)> on_step = [](const Progress&) {};
  std::function<bool()> stop_requested = [] { return false; };
};

/// What becomes of a log that is there.
enum class Existing { refuse, replace, resume, resume_replacing };

struct RunResult {
  RunStatus status = RunStatus::running;
  std::string reason;  ///< why it did not finish; empty for finished
};

/// Trains `cluster` to its end, to a stop request or to a divergence, and logs to `path`, with checkpoints next to it.
/// Whatever happens the log is complete up to there. Over several processes the one that leads writes both.
///
/// Existing::resume continues the log from its newest good checkpoint, or from the start where there is none: what
/// comes out is what an undisturbed run gives, bit for bit. Steps that are in the log already are computed again and
/// compared with it; resume_replacing writes them anew, for a run whose options have changed.
///
/// Throws ConfigError (path; a log that does not fit), IoError (log or checkpoint cannot be written).
RunResult train(VirtualCluster& cluster, const RunConfig& config, const std::string& path, Existing existing,
                const RunIdentity& identity, const RunControl& control);

/// Trains a cluster that stands at some step, as `read_checkpoint` brought it there, to its end, in one process. The
/// new log begins with the rows of `parent` up to that step, from whose run it branches off: with the same groups of
/// rows, every step logged. Throws what train throws, ConfigError for a parent that is shorter or has other rows.
RunResult branch(VirtualCluster& cluster, const RunConfig& config, const std::string& path, const RunIdentity& identity,
                 const RunControl& control, const LogReader& parent);

}  // namespace onebit::sim
