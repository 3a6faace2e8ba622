#pragma once
// N data-parallel workers, in this process or over several: samples, gradients, optimizer. A step is one pass through
// these. With several processes, every call that computes is collective.

#include <functional>

#include "device/comm/device_group.hpp"
#include "device/launch/event.hpp"
#include "sim/cluster/replica.hpp"
#include "sim/probe/theory_probe.hpp"
#include "sim/run/config.hpp"

namespace onebit::sim {

/// Time spent before the optimizer, on the first device.
struct ComputeSeconds {
  device::Seconds sample = 0;
  device::Seconds forward = 0;
  device::Seconds backward = 0;
  double total() const { return sample + forward + backward; }
};

/// Result of a step.
struct StepOutcome {
  Index step = 0;
  Index samples = 0;  ///< seen by all workers since the start
  double lr = 0;
  double loss = 0;                    ///< mean over workers, at the weights before the update
  std::vector<double> worker_losses;  ///< [workers]
  optim::StepReport report;
  std::optional<ProbeRow> probe;  ///< if one was due
  ComputeSeconds seconds;
};

/// Data, devices and processes of a run.
struct RunResources {
  std::shared_ptr<const DataSource> data;
  std::vector<device::Device> devices;  ///< of this process
  std::shared_ptr<device::ProcessGroup> processes = device::single_process();
  bool keeps_examples = true;  ///< GPUs hold all examples of the data, if a table of them fits
};

/// Workers of one device of a run, and what the device has received.
struct RankShare {
  Range workers;
  Index bytes_received = 0;  ///< of device memory, from other ranks
};

/// Fills in the evaluations that planned_evaluations chooses for this data.
RunConfig with_evaluations(RunConfig config, const DataSource& data);

/// Checks the options, reads the data and opens the devices. Throws ConfigError, IoError.
RunResources make_resources(const RunConfig& config);

class VirtualCluster {
 public:
  explicit VirtualCluster(const RunConfig& config) : VirtualCluster(config, make_resources(config)) {}
  /// Makes model, weights and optimizer; on devices that plan, without values. Throws ConfigError, IoError.
  VirtualCluster(const RunConfig& config, const RunResources& resources);

  Index steps() const { return steps_; }
  Index step() const { return step_; }
  const DataSource& data() const { return *data_; }
  /// Evaluation options, with what the configuration left open filled in.
  const EvalConfig& evaluations() const { return config_.eval; }
  /// Whether this process is the root, which has the first device: it alone logs, prints and writes files.
  bool is_root() const { return replicas_.front().shard.rank() == 0; }
  /// Whether the run is probed.
  bool probed() const { return !probes_.empty(); }
  /// Processes of the run.
  device::ProcessGroup& processes() const { return group_.processes(); }
  /// Returns the root's `own` in every process. Collective.
  Index broadcast(Index own);
  /// Returns the share of every device of the run, by rank. Collective.
  std::vector<RankShare> shares();
  /// Model, optimizer and weights (its own first worker's first) of this process's first device: in the root, the first
  /// device of the run, with worker 0. The other devices have copies, except of the rows that belong to workers.
  const Model& model() const { return *replicas_.front().model; }
  const optim::Optimizer& optimizer() const { return *replicas_.front().optimizer; }
  const device::Buffer<float>& weights() const { return replicas_.front().weights; }
  /// Replicas of this process, by rank.
  const std::vector<Replica>& replicas() const { return replicas_; }
  std::string devices() const;  ///< option value and threads
  /// Steps between the variances that variance_ratio compares.
  Index variance_lag() const;

  /// Saves or loads the state between two steps. Calls each(shard, visit) for the ranks of this process, one after
  /// another; `each` makes a StateVisitor for that shard and calls visit(visitor).
  using Visit = std::function<void(device::StateVisitor&)>;
  void visit_state(const std::function<void(const device::Shard&, const Visit&)>& each);

  /// Runs the next step. Throws NumericError if a loss, an exchanged vector or the update is not finite. For a loss it
  /// names the first tensor that went bad, and the weights are those before the step; for a vector that could not be
  /// exchanged, the worker and the tensor; for the update, what made it so.
  StepOutcome advance();

  /// Evaluates the split and examples of config.eval, by default of the held-out split, with the mean of the workers'
  /// weights if they have their own. The first device computes; all processes get the result.
  Evaluation evaluate();

  /// Computes the mean of the workers' weights on the first device, for workers that have their own; empty in other
  /// processes. Collective.
  device::Buffer<float> mean_weights();

  /// Worker 0's weights, or the mean of the workers' if they have their own. Collective in the second case; the result
  /// is for the root.
  std::vector<float> final_weights();

  /// Returns a clause for an error message: Replica::bad_tensor of the first device of this process where it is not
  /// empty, else Replica::first_bad_tensor of its first device, which names the largest weight.
  std::string first_bad_tensor() const;

  /// Calls work with every device's replica, on all devices of all processes at the same time, so that work may be
  /// collective.
  void on_each_device(const std::function<void(Replica&)>& work);

 private:
  Replica make_replica(const device::Shard& shard, bool keeps_examples) const;
  Evaluation evaluate_first(const Weights& weights);
  Index group_size(const device::Shard& shard, Index parameters) const;
  void advance(Replica& replica, StepOutcome& outcome) const;
  void advance_probed(std::size_t device, StepOutcome& outcome);
  void run_group(Replica& replica, Range group, StepOutcome& outcome) const;
  void take_batch(Replica& replica, const BatchPlace& place) const;
  BatchPlace following(const BatchPlace& place, const Replica& replica) const;
  void draw_next(Replica& replica, const BatchPlace& next, ComputeSeconds& seconds) const;
  GradientPass run_part(Replica& replica, const Weights& weights, device::Buffer<float>& gradients,
                        const BatchPlace& place, ComputeSeconds& seconds) const;
  std::vector<double> take_losses(const Replica& replica, Range group, const std::vector<GradientPass>& passes) const;

  RunConfig config_;
  device::DeviceGroup group_;
  std::shared_ptr<const DataSource> data_;
  Index steps_;
  optim::Schedule schedule_;
  std::vector<Replica> replicas_;    ///< of this process, by rank
  std::vector<TheoryProbe> probes_;  ///< one per replica; none if the run is not probed
  Index step_ = 0;
};

}  // namespace onebit::sim
