#pragma once
// Terminal functions that commands share: exit status, warnings, progress, and a clean stop on Ctrl-C.

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

/// Returns the exit status for the way in which a run ended.
int exit_status(sim::RunStatus status);

std::string program_version();

/// Prints an error on stderr, made printable(), after "onebit: error: ". It is one line, except on a terminal that is
/// too narrow for it.
void print_error(const std::string& text);
/// Prints a warning as print_error() prints an error.
void warn(const std::string& text);
/// Prints a text that is neither an error nor a warning, after "onebit: ".
void say(const std::string& text);
/// Prints a warning about options without effect, if there are any.
void warn_of(const std::vector<IdleOption>& options);

/// Makes Ctrl-C and SIGTERM request a stop; a second Ctrl-C ends the program immediately. Under mpirun, SIGUSR1
/// requests a stop, too, because mpirun forwards it to the ranks. After a stop request, this program no longer waits
/// for a worker program that does not answer in time.
void install_stop_handler();
bool stop_requested();

/// Returns the settings with which a command's runs are trained. Warnings go to stderr, and so does progress on a
/// terminal or on request. Signals stop the runs.
Training training_of(const CommandInput& input, const OutputPolicy& output, bool progress);

/// Returns a command's pricing configuration. Its cost model warns once about each extrapolated measurement.
/// Throws ConfigError.
PriceConfig price_config_of(const Settings& settings);

/// Throws ConfigError if there is a positional argument.
void refuse_arguments(const CommandInput& input);

}  // namespace onebit::experiments
