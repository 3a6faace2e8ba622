#pragma once
// The options of `onebit sweep`.

#include <string>
#include <vector>

#include "experiments/cli/command.hpp"
#include "experiments/study/study.hpp"

namespace onebit::experiments {

/// The options of the command.
struct SweepOptions : CommandInput {
  std::string out;
  ArmTexts arms;
  Index seeds = 1;
  std::vector<std::string> axes;   ///< 'key=a,b,c', 'key=low:high:log:count' or ...:lin:...
  std::vector<std::string> zips;   ///< 'key,key': axes that advance together
  std::vector<std::string> skips;  ///< 'key=value,key=value'
  std::string tune;                ///< 'key=low:high'; empty: nothing is tuned
  Index tune_points = 0;           ///< number of values to try for each arm; 0: the default, 8
  Index jobs = 0;                  ///< runs at a time; 0: as many as fit the cores
  Index retries = 1;               ///< restarts after a failure other than a divergence
  double time_limit = 0;           ///< seconds a run may take; 0: unlimited
  std::string shard;               ///< 'i/n'; empty: Slurm's if set, otherwise all points
  bool extend = false, retry_failed = false;
  bool resume = false;  ///< whether the folder says what to sweep
  bool json = false, dry_run = false, progress = false;
};

/// Returns the syntax of the command, without the function that runs it.
Command sweep_syntax();
std::vector<Option<SweepOptions>> sweep_rows();

/// Parses arguments as the command does. Throws what parse_command_line throws.
SweepOptions sweep_options(const std::vector<std::string>& arguments);

}  // namespace onebit::experiments
