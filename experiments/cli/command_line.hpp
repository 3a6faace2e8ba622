#pragma once
// Turns argv and INI files into the options of a command.

#include <span>
#include <string>
#include <vector>

#include "experiments/cli/command.hpp"

namespace onebit::experiments {

/// Parses the arguments after the command. all: the program's commands, to tell an option of another command from an
/// unknown option. Throws ConfigError for an option that the command does not accept (with the nearest names), a
/// missing value or an unreadable file.
ParsedCommand parse_command_line(const Command& command, std::span<const Command> all,
                                 const std::vector<std::string>& arguments);

}  // namespace onebit::experiments
