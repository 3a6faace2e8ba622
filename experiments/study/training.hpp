#pragma once
// How a command's runs are trained: the treatment of existing logs, the origin in log headers, and progress callbacks.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/options/options.hpp"
#include "sim/run/memory_plan.hpp"
#include "sim/run/train.hpp"

namespace onebit::experiments {

/// How a command treats existing output, and what it writes besides logs.
struct OutputPolicy {
  bool overwrite = false;
  bool resume = false;                         ///< whether to continue existing logs
  std::vector<std::string> resume_allow = {};  ///< options that may differ from the log's
  std::string weights_out = {};                ///< file for the final weights of the only run; empty: none
  std::optional<Settings> given = {};          ///< settings of the only run; not set if arms have their own
};

/// What the header of a log says about its origin.
struct Origin {
  std::string program_version, git_commit, command_line;
};

/// Functions that observe the runs of a command. Each may be replaced; the default ones do nothing.
struct Watcher {
  using OnStep = std::function<void(const sim::Progress&)>;
  /// Called at the start of a run with a name for it. The function that it returns is called after every step and is
  /// destroyed at the end of the run.
  std::function<OnStep(const std::string& name)> watch = [](const std::string&) { return [](const sim::Progress&) {}; };
  /// Called once everything has been checked, before the first run.
  std::function<void()> on_start = [] {};
  std::function<void(const std::string& text)> on_warning = [](const std::string&) {};
  std::function<bool()> stop_requested = [] { return false; };
};

struct Training {
  OutputPolicy output;
  Origin origin;
  Watcher watcher;
};

/// Makes a folder unless it exists. Throws ConfigError.
void make_folder(const std::string& path);

/// Result of a run, and how its devices shared the work.
struct TrainedRun {
  sim::RunResult result;
  std::vector<sim::RankShare> shares;
};

/// Trains and logs to `path`; the final weights of a run that finished or was stopped go to the policy's weights_out.
/// name: for the watcher. on_log_open: called before the first step. With several processes, only rank 0 writes output
/// and is observed.
TrainedRun run_and_log(
    const sim::PreparedRun& run, const std::string& path, sim::Existing existing, const Training& training,
    const std::string& name, const std::function<void()>& on_log_open = [] {});

/// Trains a cluster that branches off from the run of `parent` (sim::branch), into a new log, without final weights.
sim::RunResult branch_and_log(sim::VirtualCluster& cluster, const sim::RunConfig& config, const std::string& path,
                              const Training& training, const std::string& name, const sim::LogReader& parent);

/// Returns how the run of a complete log ended. Removes what programs that were killed have left next to the log, and
/// all but the newest `config.checkpoint.keep` checkpoints.
sim::RunResult completed(const std::string& log, const sim::RunConfig& config);

}  // namespace onebit::experiments
