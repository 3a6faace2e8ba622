#pragma once
// N data-parallel workers, in one process or spread over several. A step samples examples, computes gradients and runs
// the optimizer. With several processes, every call that computes is collective.

#include <functional>

#include "device/comm/device_group.hpp"
#include "device/launch/event.hpp"
#include "sim/cluster/replica.hpp"
#include "sim/data/data_cache.hpp"
#include "sim/probe/theory_probe.hpp"
#include "sim/run/config.hpp"

namespace onebit::sim {

/// Time that the first device spends on the model, without the time for the optimizer.
struct ComputeSeconds {
  device::Seconds sample = 0;
  device::Seconds forward = 0;
  device::Seconds backward = 0;
  device::Seconds owned = 0;  ///< update of what individual workers own, such as embedding tables
  double total() const { return sample + forward + backward + owned; }
};

/// Result of a step.
struct StepOutcome {
  Index step = 0;
  Index samples = 0;  ///< samples that all workers have seen since the start
  double lr = 0;
  double loss = 0;                    ///< mean loss over workers, at the weights before the update
  std::vector<double> worker_losses;  ///< loss of each worker
  optim::StepReport report;
  std::optional<ProbeRow> probe;         ///< row of the probe, if one was due
  std::optional<BoundarySums> boundary;  ///< what crosses through a codec, if measured
  ComputeSeconds seconds;
};

/// Data, devices and processes of a run.
struct RunResources {
  std::shared_ptr<const DataSource> data;
  std::vector<device::Device> devices;  ///< devices of this process
  std::shared_ptr<device::ProcessGroup> processes = device::single_process();
  bool keeps_examples = true;  ///< whether GPUs hold a table of all examples, if the model reads examples there
};

/// Workers of one device of a run, and what the device has received.
struct RankShare {
  Range workers;
  Index bytes_received = 0;  ///< bytes of device memory received from other ranks
};

/// Fills in the evaluation options that are left open, as planned_evaluations chooses them for this data.
RunConfig with_evaluations(RunConfig config, const DataSource& data);

/// Checks the options, reads the data and opens the devices. Throws ConfigError, IoError.
RunResources make_resources(const RunConfig& config);
/// Checks the options, takes the data from a cache and opens the devices. Throws ConfigError, IoError.
RunResources make_resources(const RunConfig& config, DataCache& data);

class VirtualCluster {
 public:
  explicit VirtualCluster(const RunConfig& config) : VirtualCluster(config, make_resources(config)) {}
  /// Makes the model, the weights and the optimizer; on devices that only count memory, they have no values. Throws
  /// ConfigError, IoError.
  VirtualCluster(const RunConfig& config, const RunResources& resources);

  Index steps() const { return steps_; }
  Index step() const { return step_; }
  const DataSource& data() const { return *data_; }
  /// Evaluation options, including those that with_evaluations filled in.
  const EvalConfig& evaluations() const { return config_.eval; }
  /// Whether this process is the root, which has the first device. Only the root logs, prints and writes files.
  bool is_root() const { return replicas_.front().shard.rank() == 0; }
  /// Whether the run is probed.
  bool probed() const { return !probes_.empty(); }
  /// Whether activations cross between workers through a codec.
  bool crosses_boundary() const { return config_.model.boundary.compresses(); }
  /// The processes of the run.
  device::ProcessGroup& processes() const { return group_.processes(); }
  /// Returns in every process the number that the root passed as `own`. Collective.
  Index broadcast(Index own);
  /// Returns the share of every device of the run, by rank. Collective.
  std::vector<RankShare> shares();
  /// Return the model, the optimizer and the weights of this process's first device. In the root, that is the first
  /// device of the run, which has worker 0. If workers have their own weights, weights() begins with those of the
  /// device's first worker. The other devices hold copies of everything except rows that belong to workers.
  const Model& model() const { return *replicas_.front().model; }
  const optim::Optimizer& optimizer() const { return *replicas_.front().optimizer; }
  const device::Buffer<float>& weights() const { return replicas_.front().weights; }
  /// Replicas of this process, by rank.
  const std::vector<Replica>& replicas() const { return replicas_; }
  std::string devices() const;  ///< text of the option `devices`, with the threads and their processor, and
                                ///< with the number of processes if there are several
  /// Number of steps between the two variances that variance_ratio compares.
  Index variance_lag() const;

  /// Shows the state of one rank to a visitor, which saves or loads it.
  using Visit = std::function<void(device::StateVisitor&)>;
  /// Saves or loads the state between two steps. Calls each(shard, visit) for the ranks of this process, one after
  /// another; `each` must make a StateVisitor for the shard and call visit(visitor).
  void visit_state(const std::function<void(const device::Shard&, const Visit&)>& each);

  /// Runs the next step. Throws NumericError if a loss, an exchanged vector or the update is not finite. For a loss,
  /// the error names the tensor that became non-finite first, and the weights are still those before the step. For an
  /// exchanged vector, the error names the worker and the tensor, or says that the vector is a server's mean; for the
  /// update, it names the worker or the tensor that became non-finite first.
  StepOutcome advance();

  /// Evaluates the examples that config.eval chooses, by default from the held-out split. If workers have their own
  /// weights, uses their mean. The first device computes; all processes get the result, without scores.
  /// crosses_boundaries: whether activations cross the model's boundaries through their codecs.
  Evaluation evaluate(bool crosses_boundaries = false);

  /// Computes the mean of the workers' weights on the first device, if workers have their own. The result is empty in
  /// processes other than the root. Collective.
  device::Buffer<float> mean_weights();

  /// Returns the weights that all workers share or, if workers have their own weights, the mean of those. In the second
  /// case, the call is collective and only the root gets the result.
  std::vector<float> final_weights();

  /// Returns a clause for an error message: Replica::bad_tensor of the first device of this process that has a bad
  /// tensor or, if no device has one, Replica::first_bad_tensor of the process's first device, which names the largest
  /// weight.
  std::string first_bad_tensor() const;

  /// Calls work with every device's replica, on all devices of all processes at the same time, so that work may be
  /// collective.
  void on_each_device(const std::function<void(Replica&)>& work);

 private:
  Replica make_replica(const device::Shard& shard, bool keeps_examples) const;
  void read_owned(const std::string& file);
  Evaluation evaluate_first(const Weights& weights, bool crosses_boundaries);
  Index group_size(const device::Shard& shard, Index parameters) const;
  void advance(Replica& replica, StepOutcome& outcome) const;
  void advance_probed(std::size_t device, StepOutcome& outcome);
  bool measures_boundary(const Replica& replica) const;
  void run_group(Replica& replica, Range group, StepOutcome& outcome) const;
  void take_batch(Replica& replica, const BatchPlace& place) const;
  BatchPlace following(const BatchPlace& place, const Replica& replica) const;
  void draw_next(Replica& replica, const BatchPlace& next, ComputeSeconds& seconds) const;
  GradientRows rows_of(device::Buffer<float>& gradients, const BatchPlace& place) const;
  GradientPass run_part(Replica& replica, const Weights& weights, device::Buffer<float>& gradients,
                        const BatchPlace& place, ComputeSeconds& seconds) const;
  std::vector<double> take_losses(const Replica& replica, Range group, const std::vector<GradientPass>& passes) const;

  RunConfig config_;
  device::DeviceGroup group_;
  std::shared_ptr<const DataSource> data_;
  Index steps_;
  optim::Schedule schedule_;
  std::vector<Replica> replicas_;    ///< replicas of this process, by rank
  std::vector<TheoryProbe> probes_;  ///< one per replica; none if the run is not probed
  Index step_ = 0;
};

}  // namespace onebit::sim
