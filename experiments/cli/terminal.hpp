#pragma once
// What commands have in common as programs in a terminal: exit status, warnings, progress, and a clean stop on Ctrl-C.

#include <string>
#include <vector>

#include "experiments/cli/command.hpp"
#include "experiments/options/idle_options.hpp"
#include "experiments/study/training.hpp"

namespace onebit::experiments {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitStopped = 130;

/// Returns the exit status of a run.
int exit_status(sim::RunStatus status);

std::string program_version();

/// Prints a warning, one line on stderr.
void warn(const std::string& text);
/// Prints a warning of options without effect, if there are any.
void warn_of(const std::vector<IdleOption>& options);

/// Makes Ctrl-C and SIGTERM requests to stop; a second Ctrl-C ends the program at once. Under mpirun SIGUSR1 is a
/// request to stop, too, because mpirun forwards it to the ranks.
void install_stop_handler();
bool stop_requested();

/// Whether progress is shown: on a terminal, or on request.
bool shows_progress(bool requested);

/// Returns how a command's runs are trained: warnings and, on a terminal or on request, progress go to stderr, and
/// signals stop them.
Training training_of(const CommandInput& input, const OutputPolicy& output, bool progress);

/// Returns a command's pricing configuration. Its cost model warns once about each extrapolated measurement.
/// Throws ConfigError.
PriceConfig price_config_of(const Settings& settings);

/// Throws ConfigError for a positional argument.
void refuse_arguments(const CommandInput& input);

}  // namespace onebit::experiments
