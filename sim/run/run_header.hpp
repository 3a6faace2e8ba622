#pragma once
// The header of a run's log.

#include "sim/cluster/virtual_cluster.hpp"
#include "sim/log/schema.hpp"
#include "sim/run/train.hpp"

namespace onebit::sim {

/// Returns the header of a new log: who trains what, where, from which data, and which groups of rows the log will
/// have.
LogHeader make_header(const VirtualCluster& cluster, const RunConfig& config, const RunIdentity& identity);

}  // namespace onebit::sim
