#pragma once
// A command as several processes of this machine, by mpirun.

#include <string>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::experiments {

/// Starts this program with `arguments` as `ranks` MPI processes and waits for their end. What they print is printed;
/// what mpirun says of their end becomes one line at most. Ctrl-C and SIGTERM ask them to stop; a second one ends them
/// at once. The exit status is that of the ranks, 1 where one was killed. Throws ConfigError where there is no mpirun.
int run_ranks(Index ranks, const std::vector<std::string>& arguments);

}  // namespace onebit::experiments
