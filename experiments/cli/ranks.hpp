#pragma once
// Runs a command as several processes of this machine, by mpirun.

#include <string>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::experiments {

/// Starts this program with `arguments` as `ranks` MPI processes and waits for their end. Their output is printed;
/// mpirun's messages about their end become at most one line. Ctrl-C and SIGTERM ask them to stop; a second one kills
/// them. Returns the exit status of the ranks. Throws Error where a rank or mpirun died or did not start, ConfigError
/// where there is no mpirun.
int run_ranks(Index ranks, const std::vector<std::string>& arguments);

}  // namespace onebit::experiments
