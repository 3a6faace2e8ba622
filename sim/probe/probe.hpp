#pragma once
// Measures the state of a run, or of a replay, for the log. Norms are computed in double by deterministic reductions.
// With several processes, the functions are collective unless they say otherwise, and the root gets the row.

#include <functional>

#include "sim/cluster/virtual_cluster.hpp"
#include "sim/log/schema.hpp"

namespace onebit::sim {

/// What the log measures on one device.
struct MeasuredDevice {
  const device::Shard& shard;
  const optim::Optimizer& optimizer;
  const device::Buffer<float>& weights;  ///< as in Replica
  const std::vector<compress::Tensor>& tensors;
};

/// The devices of a run or of a replay.
class MeasuredDevices {
 public:
  using Work = std::function<void(const MeasuredDevice&)>;
  using OnEach = std::function<void(const Work&)>;

  MeasuredDevices(VirtualCluster& cluster);
  /// Uses the devices that the function on_each visits. on_each: calls its argument for all devices of this process at
  /// the same time.
  explicit MeasuredDevices(OnEach on_each) : on_each_(std::move(on_each)) {}

  void on_each(const Work& work) const { on_each_(work); }

 private:
  OnEach on_each_;
};

/// Returns the row of /steps after a step, without its times. Columns that the optimizer has no state for, or that are
/// not due, are NaN.
StepRow measure_step(const MeasuredDevices& devices, const StepOutcome& outcome);

/// Fills in the columns of /steps that depend on every worker's errors. Called only at steps that also have a row of
/// /workers.
void measure_errors(const MeasuredDevices& devices, const WorkerRow& workers, StepRow& row);

/// Returns the row of /workers: losses and error norms. Reads every worker's errors.
WorkerRow measure_workers(const MeasuredDevices& devices, const StepOutcome& outcome);

/// Returns the row of /tensors: norms per tensor, and what the optimizer reports for each. Not collective: the root may
/// call it alone.
TensorRow measure_tensors(const VirtualCluster& cluster, Index step);
/// Returns the row of /tensors, measured on the device with worker 0. probed: whether the run keeps a shadow variance.
TensorRow measure_tensors(const MeasuredDevice& first, Index step, bool probed);

}  // namespace onebit::sim
