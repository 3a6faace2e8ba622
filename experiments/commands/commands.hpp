#pragma once
// The commands of the program, one file each, and their table.

#include <string>
#include <string_view>
#include <vector>

#include "experiments/cli/command_line.hpp"

namespace onebit::experiments {

struct Command {
  std::string_view name;
  std::string_view usage;  ///< its arguments
  std::string_view doc;
  std::vector<std::string> extras;  ///< options beyond those of a run
  bool takes_run_options;
  Accepted::Price price_options;
  int (*run)(const CommandLine&);  ///< exit status; throws Error
  bool over_ranks = false;         ///< whether it may run as several MPI processes
  std::string_view preset = {};    ///< preset used where none is named
};

int run_command(const CommandLine& line);
int compare_command(const CommandLine& line);
int sweep_command(const CommandLine& line);
int replay_command(const CommandLine& line);
int list_command(const CommandLine& line);
int bench_command(const CommandLine& line);
int price_command(const CommandLine& line);
/// Runs `price --calibrate`.
int calibrate_command(const CommandLine& line);
int analyze_command(const CommandLine& line);
int freeze_command(const CommandLine& line);
int report_command(const CommandLine& line);
int inspect_command(const CommandLine& line);
int export_command(const CommandLine& line);
int verify_command(const CommandLine& line);

}  // namespace onebit::experiments
