#pragma once
// A command of the program: a struct of options, the table rows that fill it, and the function that is called with it.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "experiments/options/run_settings.hpp"

namespace onebit::experiments {

/// Input that every command receives in addition to its own options. The commands' structs of options derive from it.
struct CommandInput {
  std::string text;                    ///< the command line as typed
  std::vector<std::string> words;      ///< its words, without the program's name
  std::vector<std::string> arguments;  ///< positional arguments
  RunSettings run;                     ///< options of a run, as given
  Settings price;                      ///< pricing options: clusters, workload and step
  bool made_up_name = false;           ///< whether the program chose the name of the output
};

/// Input that a command accepts in addition to its own options.
struct Accepts {
  bool run = false;  ///< whether it accepts the options of a run
  /// Returns whether an option of a run can have an effect. The help lists only the options for which this is true.
  /// Null: every option can have an effect.
  bool (*of_run)(const std::string& name) = nullptr;
  /// Accepted pricing options: none, only those for which is_for_runs_too() is true, or all.
  enum class Price { none, of_runs, all } price = Price::none;
  bool target = false;                                     ///< whether it accepts --target even if `price` excludes it
  bool config = false, preset = false, deepspeed = false;  ///< accepted kinds of files with options
  bool ranks = false;                                      ///< whether it may run as several MPI processes
  std::string default_preset = {};                         ///< preset to use if none is named
};

/// An option of a command, independent of the struct that holds its value.
struct OwnOption {
  std::string name, help, value;  ///< value: the default; empty if there is none to show
  bool is_flag = false;
  std::string replaces = {}, twice = {}, alias = {}, group = {};  ///< same as in Option
  std::function<std::vector<std::string>()> words = {};           ///< same as in Option
  ValueKind kind = ValueKind::text;
};

/// A parsed command line. The options are separated by kind, and their values are still text.
struct ParsedCommand {
  CommandInput input;
  Settings own;  ///< the command's own options, lowest precedence first; a flag has the value "true"
  Index ranks = 1;
  bool help = false, help_all = false;
};

/// What the help of a command says besides the table of its options.
struct Help {
  std::vector<std::string> common = {};    ///< options that --help shows, in this order; --help-all shows all
  std::vector<std::string> examples = {};  ///< command lines
  std::function<std::vector<std::string>()> arguments = {};  ///< words for arguments; none: files
};

struct Command {
  std::string name;
  std::string usage = {};  ///< positional arguments, for the help text
  std::string doc = {};
  Accepts accepts = {};
  Help help = {};
  std::vector<OwnOption> own = {};
  /// Parses the values of the command's own options. Returns a function that runs the command and returns the exit
  /// status. Both throw Error.
  std::function<std::function<int()>(const ParsedCommand&)> bind = {};
};

/// Returns the options that the rows describe, independent of their struct.
template <class Options>
std::vector<OwnOption> own_options(const std::vector<Option<Options>>& rows) {
  const Options defaults;
  std::vector<OwnOption> own;
  for (const Option<Options>& row : rows)
    own.push_back({row.name, row.help, row.is_flag ? "" : row.get(defaults), row.is_flag, row.replaces, row.twice,
                   row.alias, row.group, row.words, row.kind});
  return own;
}

/// Returns the options of a command. Throws ConfigError for malformed values.
template <class Options>
Options options_from(const ParsedCommand& parsed, const std::vector<Option<Options>>& rows) {
  Options options;
  static_cast<CommandInput&>(options) = parsed.input;
  for (const auto& [name, value] : parsed.own)
    std::ranges::find(rows, name, &Option<Options>::name)->set(options, value);
  return options;
}

/// Returns the command with the rows of its options and the function that runs it.
template <class Options>
Command make_command(Command command, const std::vector<Option<Options>>& rows, int (*run)(const Options&)) {
  command.own = own_options(rows);
  command.bind = [rows, run](const ParsedCommand& parsed) -> std::function<int()> {
    return [options = options_from(parsed, rows), run] { return run(options); };
  };
  return command;
}

}  // namespace onebit::experiments
