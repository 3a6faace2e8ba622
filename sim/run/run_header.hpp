#pragma once
// Makes the header of a log.

#include "sim/cluster/virtual_cluster.hpp"
#include "sim/log/schema.hpp"
#include "sim/run/train.hpp"

namespace onebit::sim {

/// Returns what the headers of all new logs have in common: the program, the machine, the options, and which groups of
/// rows the log will have.
LogHeader begun_header(const LogConfig& config, const RunIdentity& identity);

/// Returns the number of steps between the two variances that variance_ratio compares.
Index variance_lag_of(const optim::OptimizerConfig& config);

/// Returns the header of a run's new log: the program, its options, the machine, the model and the data, and which
/// groups of rows the log will have.
LogHeader make_header(const VirtualCluster& cluster, const RunConfig& config, const RunIdentity& identity);

}  // namespace onebit::sim
