#pragma once
// The commands of the program, one file each: a struct of options, its rows, and the function that is called with it.

#include "experiments/cli/command.hpp"

namespace onebit::experiments {

Command run_command();
Command compare_command();
Command sweep_command();
Command replay_command();
Command bench_command();
Command price_command();
Command list_command();
Command analyze_command();
Command freeze_command();
Command report_command();
Command watch_command();
Command inspect_command();
Command export_command();
Command card_command();
Command verify_command();
Command completion_command();
Command man_command();

/// Returns all commands, in the order of the help text.
std::vector<Command> commands();

}  // namespace onebit::experiments
