#include <iostream>

#include "experiments/cli/man_page.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/commands.hpp"

namespace onebit::experiments {
namespace {

int print_man_page(const CommandInput& input) {
  refuse_arguments(input);
  std::cout << man_page(commands(), program_version());
  return kExitDone;
}

}  // namespace

Command man_command() {
  return make_command({.name = "man",
                       .doc = "print the manual page with all commands and options",
                       .help = {.examples = {"onebit man | man -l -", "onebit man > onebit.1"}}},
                      std::vector<Option<CommandInput>>(), print_man_page);
}

}  // namespace onebit::experiments
