#pragma once
// Measures the state of a run for the log. Norms are computed in double by deterministic reductions. With several
// processes, all take part and the root gets the row.

#include "sim/cluster/virtual_cluster.hpp"
#include "sim/log/schema.hpp"

namespace onebit::sim {

/// Returns the row of /steps after a step, without its times. Columns that the optimizer has no state for, or that are
/// not due, are NaN.
StepRow measure_step(VirtualCluster& cluster, const StepOutcome& outcome);

/// Fills in the columns of /steps that depend on every worker's errors; only at steps that also have a row of /workers.
void measure_errors(VirtualCluster& cluster, const WorkerRow& workers, StepRow& row);

/// Returns the row of /workers: losses and error norms. Reads every worker's errors.
WorkerRow measure_workers(VirtualCluster& cluster, const StepOutcome& outcome);

/// Returns the row of /tensors: norms per tensor, and what the optimizer reports for each. Not collective: the root may
/// call it alone.
TensorRow measure_tensors(const VirtualCluster& cluster, Index step);

}  // namespace onebit::sim
