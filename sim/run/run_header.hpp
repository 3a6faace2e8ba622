#pragma once
// Makes the header of a run's log.

#include "sim/cluster/virtual_cluster.hpp"
#include "sim/log/schema.hpp"
#include "sim/run/train.hpp"

namespace onebit::sim {

/// Returns the header of a new log: the program, its options, the machine, the model and the data, and which groups of
/// rows the log will have.
LogHeader make_header(const VirtualCluster& cluster, const RunConfig& config, const RunIdentity& identity);

}  // namespace onebit::sim
