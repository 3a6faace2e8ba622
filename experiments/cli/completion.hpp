#pragma once
// Completion scripts for shells, made from the tables of options, and these tables as JSON.

#include <span>
#include <string>

#include "experiments/cli/command.hpp"

namespace onebit::experiments {

/// Returns a script for bash that completes commands, a command's options, and the names that options take; elsewhere
/// it completes file names. In a list of names separated by commas, it completes the last one.
std::string bash_completion(std::span<const Command> all);

/// Returns the same for zsh, which also shows what commands and options are for. The script can be sourced, or
/// autoloaded as a function if it is in the search path as _onebit.
std::string zsh_completion(std::span<const Command> all);

/// Returns a JSON object with the options of every command, for other programs.
std::string json_completion(std::span<const Command> all);

}  // namespace onebit::experiments
