#include "experiments/cli/completion.hpp"

#include <iostream>
#include <map>

#include "device/base/error.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/options/option_fields.hpp"

namespace onebit::experiments {
namespace {

constexpr const char* kShells = "bash|zsh|json";

int print_completion(const CommandInput& input) {
  const std::map<std::string, std::string (*)(std::span<const Command>)> shells = {
      {"bash", bash_completion}, {"zsh", zsh_completion}, {"json", json_completion}};
  const std::string shell = input.arguments.size() == 1 ? input.arguments.front() : "";
  if (!shells.contains(shell))
    throw ConfigError("unknown or missing shell", shell.empty() ? "completion" : "completion " + shell,
                      "onebit completion bash, zsh, or json for programs");
  std::cout << shells.at(shell)(commands());
  return kExitDone;
}

}  // namespace

Command completion_command() {
  return make_command(
      {.name = "completion",
       .usage = kShells,
       .doc = "print a script that completes commands, options and names in a shell, or the tables of options as JSON",
       .help = {.examples = {"source <(onebit completion bash)", "onebit completion zsh > ~/.zsh/functions/_onebit"},
                .arguments = [] { return split(kShells, '|'); }}},
      std::vector<Option<CommandInput>>(), print_completion);
}

}  // namespace onebit::experiments
