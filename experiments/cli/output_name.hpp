#pragma once
// Names for outputs that the user has not named, and the commands that continue an output.

#include <string>

#include "experiments/cli/command.hpp"

namespace onebit::experiments {

/// Returns the form of a generated name, for the help: "run-DATE-TIME.h5".
inline std::string made_up_form(const std::string& stem, const std::string& suffix = {}) {
  return stem + "-DATE-TIME" + suffix;
}

/// Returns a name that nothing in the working folder has, such as "run-20260131-235959.h5": the stem, the local time
/// and the suffix. existing: the option that needs an existing output, e.g. "--resume"; empty if there is none. Throws
/// ConfigError if `existing` is not empty, or if several processes would each generate a name.
std::string made_up_name(const std::string& stem, const std::string& suffix, const std::string& existing);

/// Returns the options of a command with the output set to the name that made_up_name() returns.
template <class Options>
Options with_made_up_name(Options options, const std::string& stem, const std::string& suffix = {},
                          const std::string& existing = {}) {
  options.out = made_up_name(stem, suffix, existing);
  options.made_up_name = true;
  return options;
}

/// Says on stderr which name the program has chosen for the output, if it has chosen one.
void tell_made_up_name(const CommandInput& input, const std::string& out);

/// Throws ConfigError if a file cannot be written because its folder does not exist or its name is that of a folder.
void check_folder_of(const std::string& path);

/// Returns the command that the user typed, quoted for a shell, without --overwrite. The returned command always names
/// the output, and it ends with `flag` unless `flag` is empty.
std::string command_again(const CommandInput& input, const std::string& out, const std::string& flag);

/// Says on stderr that the command was stopped, and how to continue it: command_again().
void tell_how_to_continue(const CommandInput& input, const std::string& out, const std::string& flag);

}  // namespace onebit::experiments
