#pragma once
// A command of the program: a struct of options, the rows that fill it, and the function that gets it.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "experiments/options/run_settings.hpp"

namespace onebit::experiments {

/// What every command is given besides its own options; their structs derive from it.
struct CommandInput {
  std::string text;                    ///< the command as typed
  std::vector<std::string> arguments;  ///< positional arguments
  RunSettings run;                     ///< options of a run
  Settings price;                      ///< options of pricing: of clusters, workload and step
};

/// What a command accepts besides its own options.
struct Accepts {
  bool run = false;  ///< options of a run
  /// Options of pricing: none, those that say what and how to price, or all.
  enum class Price { none, of_runs, all } price = Price::none;
  bool target = false;                                     ///< --target, even where `price` leaves it out
  bool config = false, preset = false, deepspeed = false;  ///< files with options
  bool ranks = false;                                      ///< it may run as several MPI processes
  std::string default_preset = {};                         ///< preset used where none is named
};

/// An option of a command, without the struct that it belongs to.
struct OwnOption {
  std::string name, help, value;  ///< value: the default; empty: there is none to show
  bool is_flag = false;
  std::string replaces = {}, twice = {};  ///< as in Option
};

/// A command line as text, parsed and sorted.
struct ParsedCommand {
  CommandInput input;
  Settings own;  ///< the command's own options, in rising precedence; a flag has the value "true"
  Index ranks = 1;
  bool help = false;
};

struct Command {
  std::string name;
  std::string usage = {};  ///< its arguments
  std::string doc = {};
  Accepts accepts = {};
  std::vector<OwnOption> own = {};
  /// Parses the values of its own options and returns what runs the command and gives the exit status. Both throw
  /// Error.
  std::function<std::function<int()>(const ParsedCommand&)> bind = {};
};

/// Returns the rows of a struct of options without the struct.
template <class Options>
std::vector<OwnOption> own_options(const std::vector<Option<Options>>& rows) {
  const Options defaults;
  std::vector<OwnOption> own;
  for (const Option<Options>& row : rows)
    own.push_back({row.name, row.help, row.is_flag ? "" : row.get(defaults), row.is_flag, row.replaces, row.twice});
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

/// Completes a command by the rows of its options and its function.
template <class Options>
Command make_command(Command command, const std::vector<Option<Options>>& rows, int (*run)(const Options&)) {
  command.own = own_options(rows);
  command.bind = [rows, run](const ParsedCommand& parsed) -> std::function<int()> {
    return [options = options_from(parsed, rows), run] { return run(options); };
  };
  return command;
}

}  // namespace onebit::experiments
