#pragma once
// One run as the program does it: training with progress on stderr and a clean stop on Ctrl-C.

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

/// Where there is none yet. Throws ConfigError.
void make_folder(const std::string& path);

/// A line on stderr.
void warn(const std::string& text);

/// Ctrl-C and SIGTERM ask for a stop from now on; a second Ctrl-C ends the program at once. So does SIGUSR1 under
/// mpirun, which hands that one on to the ranks.
void install_stop_handler();
bool stop_requested();

/// What a run left behind, and what its devices did for it.
struct Session {
  sim::RunResult result;
  std::vector<sim::RankShare> shares;
};

/// Trains and logs to `path`; the final weights of a run that was not broken off go to line.weights_out. `label` names
/// the run on the progress line, which is shown on a terminal or when asked for. Over several processes the one that
/// leads writes and shows.
Session run_and_log(
    const sim::PreparedRun& run, const std::string& path, sim::Existing existing, const CommandLine& line,
    const std::string& label, const std::function<void()>& on_start = [] {});

/// The same for a cluster that branches off from the run of `parent` (sim::branch), into a new log, without final
/// weights.
sim::RunResult branch_and_log(sim::VirtualCluster& cluster, const sim::RunConfig& config, const std::string& path,
                              const CommandLine& line, const std::string& label, const sim::LogReader& parent);

/// How the run of a log ended.
sim::RunResult result_of(const std::string& log);

/// Exit status of a run.
int exit_status(sim::RunStatus status);

}  // namespace onebit::experiments
