#pragma once

#include "device/comm/mpi/abi.hpp"

namespace onebit::device::mpi {

/// MPI, from the plugin libonebit_mpi.so, which is built where MPI is installed and lies next to the program, in
/// ../lib/onebit, or where the environment variable ONEBIT_MPI_PLUGIN says. Throws NotCompiled where it is not found.
const OnebitMpi& load();

}  // namespace onebit::device::mpi
