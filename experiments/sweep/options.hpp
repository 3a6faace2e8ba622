#pragma once
// Options of `onebit sweep` besides those of a run.

#include <string>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::experiments {

struct SweepOptions {
  std::vector<std::string> axes;   ///< 'key=a,b,c', 'key=low:high:log:count' or ...:lin:...
  std::vector<std::string> zips;   ///< 'key,key': axes that advance together
  std::vector<std::string> skips;  ///< 'key=value,key=value'
  std::string tune;                ///< 'key=low:high'; empty: nothing is tuned
  Index tune_points = 0;           ///< values to try for each arm; 0: not given, then 8
  Index jobs = 0;                  ///< runs at a time; 0: as many as fit the cores
  Index retries = 1;               ///< restarts after a failure other than a divergence
  double time_limit = 0;           ///< seconds a run may take; 0: unlimited
  std::string shard;               ///< 'i/n'; empty: SLURM's, else all
  bool extend = false;
  bool retry_failed = false;
};

/// Takes an option of the command line or an INI file. Returns false where it is none of these. Throws ConfigError.
bool take_sweep_option(SweepOptions& options, const std::string& name, const std::string& value);

/// Returns the names of these options, without dashes.
const std::vector<std::string>& sweep_option_names();

}  // namespace onebit::experiments
