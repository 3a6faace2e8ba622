#pragma once
// Measures the state of a run for the log: norms in double, by the deterministic reductions. Over several processes all
// take part, and the one that leads gets the row.

#include "sim/log/schema.hpp"
#include "sim/cluster/virtual_cluster.hpp"

namespace onebit::sim {

/// The row of /steps after a step, without its times. Columns that the optimizer has no state for, or that are not due,
/// are NaN.
StepRow measure_step(VirtualCluster& cluster, const StepOutcome& outcome);

/// Adds the columns that read every worker's errors; due together with the row of /workers.
void measure_errors(VirtualCluster& cluster, const WorkerRow& workers, StepRow& row);

/// The row of /workers: losses and error norms. Reads every worker's errors.
WorkerRow measure_workers(VirtualCluster& cluster, const StepOutcome& outcome);

/// The row of /tensors: norms per tensor, and what the optimizer says of each.
TensorRow measure_tensors(const VirtualCluster& cluster, Index step);

}  // namespace onebit::sim
