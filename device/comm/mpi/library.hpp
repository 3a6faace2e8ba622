#pragma once

#include "device/comm/mpi/abi.hpp"

namespace onebit::device::mpi {

/// Loads the plugin libonebit_mpi.so, which is built if MPI is installed. It is searched for next to the program and in
/// ../lib/onebit, or only at the path in the environment variable ONEBIT_MPI_PLUGIN if that is set. Throws NotCompiled
/// if it is not found, and Error if it cannot be loaded.
const OnebitMpi& load();

}  // namespace onebit::device::mpi
