#pragma once
// The help texts of the program and its commands, made from the tables of options.

#include <span>
#include <string>

#include "experiments/cli/command.hpp"

namespace onebit::experiments {

/// Returns the list of the program's commands.
std::string program_help(std::span<const Command> all, const std::string& version);

/// Returns the usage line of a command: its name, its arguments and "[options]".
std::string synopsis(const Command& command);

/// Returns the common options and the examples of a command: at most 40 lines of at most 80 columns.
std::string short_help(const Command& command);

/// Returns all options that can have an effect on a command, under headings.
std::string full_help(const Command& command);

}  // namespace onebit::experiments
