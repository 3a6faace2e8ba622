#pragma once
// Times MPI's collectives between the processes of this run, to calibrate the network model.

#include <iosfwd>

#include "device/comm/process_group.hpp"
#include "netmodel/measured/measurements.hpp"

namespace onebit::experiments {

/// Measures all-reduces, all-to-alls and all-gathers of 4 KiB to 16 MiB in host memory: medians over `rounds` of the
/// slowest rank's time. Throws ConfigError if there is only one process, or if the machines run different numbers of
/// processes. Collective.
std::vector<netmodel::Measurement> bench_mpi(device::ProcessGroup& processes, Index rounds);

/// Writes the table that `price --calibrate` and the cost model `table` read.
void write_measurements(const std::vector<netmodel::Measurement>& rows, std::ostream& out);

}  // namespace onebit::experiments
