#include "experiments/cli/command_line.hpp"
#include "experiments/commands/commands.hpp"
#include "tests/fuzz/scratch_file.hpp"

using namespace onebit;

/// An INI file or, if the first byte says so, the arguments of a command, one per line.
ONEBIT_FUZZ(options, input) {
  using namespace onebit::experiments;
  const bool file = input.byte() % 2 == 0;
  const sim::Bytes bytes = input.file();
  static const std::vector<Command> all = commands();
  const Command& compare = *std::ranges::find(all, "compare", &Command::name);
  std::vector<std::string> arguments;
  if (!file) {
    arguments = split(std::string(bytes.text()), '\n');
    for (const std::string& argument : arguments) {
      if (argument.find("config") != std::string::npos || argument.find("preset") != std::string::npos) return;
    }
  }
  static fuzz::ScratchFile ini;
  if (file) {
    ini.assign(input.rest());
    arguments = {"--config", ini.path()};
  }
  const ParsedCommand parsed = parse_command_line(compare, all, arguments);
  compare.bind(parsed);
  const Settings values = values_of(make_config(parsed.input.run.settings));
  fuzz::require(values.size() == run_options().size());
  try {
    fuzz::require(values_of(make_config(values)) == values);
  } catch (const ConfigError&) {
    fuzz::require(false);  // it refused its own values
  }
}
