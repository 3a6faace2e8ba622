#pragma once
// From argv and INI files to settings.

#include <optional>
#include <string>
#include <vector>

#include "experiments/deepspeed_config.hpp"

namespace onebit::experiments {

/// What a command was called with. Options of a run come from the preset, then DeepSpeed's configuration, then the
/// config file, then the command line; the later one wins.
struct CommandLine {
  Settings run;
  std::optional<DeepspeedConfig> deepspeed;
  std::string text;                    ///< the command as typed
  std::vector<std::string> arguments;  ///< positional
  std::string out;
  std::string weights_out;              ///< run: where the final weights go; empty: nowhere
  std::vector<std::string> arms;        ///< compare: 'name:key=value,...'
  std::vector<std::string> optimizers;  ///< compare
  Index seeds = 1;                      ///< compare
  std::string reference;                ///< replay: group of the trace to follow and to compare with
  Index elements = 0;                   ///< bench kernels: of the largest operand; 0: beyond the caches
  Index rounds = 0;                     ///< bench: 0: the command's default
  std::vector<Index> sweep;             ///< bench scaling: numbers of workers; none: the command's default
  Index global_batch = 0;               ///< bench scaling: 0: the command's default
  bool overwrite = false;
  bool json = false;
  bool dry_run = false;
  bool progress = false;  ///< show progress although stderr is no terminal
  bool help = false;
};

/// Parses the arguments behind the command. Throws ConfigError: unknown option (nearest named), missing value,
/// unreadable file. A command takes the options in `extras`, and the run options where `run_options_too`.
CommandLine parse_command_line(const std::string& command, const std::vector<std::string>& arguments,
                               const std::vector<std::string>& extras, bool run_options_too);

/// Help text for a command: its extra options, and the run options where it takes them.
std::string options_help(const std::vector<std::string>& extras, bool run_options_too);

}  // namespace onebit::experiments
