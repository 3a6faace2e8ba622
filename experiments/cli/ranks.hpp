#pragma once
// Runs a command as several processes on this machine, started with mpirun.

#include <string>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::experiments {

/// Starts this program with `arguments` as `ranks` MPI processes and waits until they end. Their output is printed;
/// mpirun's messages about how they ended become at most one line. Ctrl-C and SIGTERM ask them to stop; a second signal
/// kills them. Returns the exit status of the ranks. Throws Error if a rank or mpirun died or a rank did not start, and
/// ConfigError if mpirun cannot be started.
int run_ranks(Index ranks, const std::vector<std::string>& arguments);

}  // namespace onebit::experiments
