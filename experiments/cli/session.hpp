#pragma once
// One run as the program executes it: training with progress on stderr and a clean stop on Ctrl-C.

#include <functional>
#include <string>

#include "experiments/cli/command_line.hpp"
#include "sim/run/memory_plan.hpp"
#include "sim/run/train.hpp"

namespace onebit::experiments {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitStopped = 130;

std::string program_version();

/// Makes a folder unless it exists. Throws ConfigError.
void make_folder(const std::string& path);

/// Prints a warning, one line on stderr.
void warn(const std::string& text);

/// Makes Ctrl-C and SIGTERM requests to stop; a second Ctrl-C ends the program at once. Under mpirun SIGUSR1 is a
/// request to stop, too, because mpirun forwards it to the ranks.
void install_stop_handler();
bool stop_requested();

/// Result of a run, and the shares of its devices in the work.
struct Session {
  sim::RunResult result;
  std::vector<sim::RankShare> shares;
};

/// Trains and logs to `path`; the final weights of a run that finished or was stopped go to line.weights_out. `label`
/// names the run on the progress line, which is shown on a terminal or on request. With several processes, rank 0
/// writes and shows progress.
Session run_and_log(
    const sim::PreparedRun& run, const std::string& path, sim::Existing existing, const CommandLine& line,
    const std::string& label, const std::function<void()>& on_start = [] {});

/// Trains a cluster that branches off from the run of `parent` (sim::branch), into a new log, without final weights.
sim::RunResult branch_and_log(sim::VirtualCluster& cluster, const sim::RunConfig& config, const std::string& path,
                              const CommandLine& line, const std::string& label, const sim::LogReader& parent);

/// Returns how the run of a log ended.
sim::RunResult result_of(const std::string& log);

/// Returns the exit status of a run.
int exit_status(sim::RunStatus status);

}  // namespace onebit::experiments
