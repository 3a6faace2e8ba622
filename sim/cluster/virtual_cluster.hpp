#pragma once
// N data-parallel workers, here or over several processes: samples, gradients, optimizer. One step is one pass through
// it. Over processes every call that computes is collective.

#include <functional>

#include "device/comm/device_group.hpp"
#include "device/launch/event.hpp"
#include "sim/cluster/replica.hpp"
#include "sim/probe/theory_probe.hpp"
#include "sim/run/config.hpp"

namespace onebit::sim {

/// Where the time before the optimizer went, on the first device.
struct ComputeSeconds {
  device::Seconds sample = 0;
  device::Seconds forward = 0;
  device::Seconds backward = 0;
  double total() const { return sample + forward + backward; }
};

/// What a step left behind.
struct StepOutcome {
  Index step = 0;
  Index samples = 0;  ///< seen by all workers since the start
  double lr = 0;
  double loss = 0;                    ///< mean over workers, of the weights before the update
  std::vector<double> worker_losses;  ///< [workers]
  optim::StepReport report;
  std::optional<ProbeRow> probe;  ///< where one was due
  ComputeSeconds seconds;
};

/// What a run stands on.
struct RunResources {
  std::shared_ptr<const DataSource> data;
  std::vector<device::Device> devices;  ///< of this process
  std::shared_ptr<device::ProcessGroup> processes = device::single_process();
  bool keeps_examples = true;  ///< a GPU has all of the data's, where they fit in a table
};

/// What a device of a run has held and received.
struct RankShare {
  Range workers;
  Index bytes_received = 0;  ///< device memory of other ranks
};

/// The configuration with planned_evaluations of what it reads.
RunConfig with_evaluations(RunConfig config, const DataSource& data);

/// Checks the options, reads the data and opens the devices. Throws ConfigError, IoError.
RunResources make_resources(const RunConfig& config);

class VirtualCluster {
 public:
  explicit VirtualCluster(const RunConfig& config) : VirtualCluster(config, make_resources(config)) {}
  /// Makes model, weights and optimizer; on devices that plan, without a value in them. Throws ConfigError, IoError.
  VirtualCluster(const RunConfig& config, const RunResources& resources);

  Index steps() const { return steps_; }
  Index step() const { return step_; }
  const DataSource& data() const { return *data_; }
  /// With what the configuration left open.
  const EvalConfig& evaluations() const { return config_.eval; }
  /// Whether this process has the first device: it alone logs, prints and writes files.
  bool is_root() const { return replicas_.front().shard.rank() == 0; }
  /// Whether steps may have a probe.
  bool probed() const { return !probes_.empty(); }
  /// Processes of the run.
  Index ranks() const { return group_.processes().size(); }
  /// Whether a process says so. Collective.
  bool any(bool own) { return group_.processes().any(own); }
  /// What the process that leads says. Collective.
  Index broadcast(Index own);
  /// Calls work in every process; an error in one is thrown in all. Collective.
  void together(const std::function<void()>& work) { group_.processes().run(work); }
  /// Of every device of the run, by rank.
  std::vector<RankShare> shares();
  /// Model, optimizer and weights (worker 0's first) of the first device; those of the others are copies, but for the
  /// rows of workers.
  const Model& model() const { return *replicas_.front().model; }
  const optim::Optimizer& optimizer() const { return *replicas_.front().optimizer; }
  const device::Buffer<float>& weights() const { return replicas_.front().weights; }
  /// Of this process.
  const std::vector<Replica>& replicas() const { return replicas_; }
  std::string devices() const;  ///< option value and threads
  /// Steps between the variances that variance_ratio compares.
  Index variance_lag() const;

  /// Visits the state between two steps, of this process's ranks one after the other: `each` makes a visitor of a shard
  /// and gives it to what it is called with.
  using Visit = std::function<void(device::StateVisitor&)>;
  void visit_state(const std::function<void(const device::Shard&, const Visit&)>& each);

  /// Runs the next step. Throws NumericError naming the first tensor that went bad when a loss is not finite: the
  /// weights are then those before the step. Else naming worker and tensor of a vector that was not, and could not be
  /// exchanged, or what made the update so.
  StepOutcome advance();

  /// Loss and accuracy on the held-out split, or that of config.eval; of the mean of the workers' weights where they
  /// have their own. The first device computes, all processes learn.
  Evaluation evaluate();

  /// The mean of the workers' weights on the first device, where they have their own; empty in other processes.
  device::Buffer<float> mean_weights();

  /// Worker 0's weights, or the mean of the workers' where they have their own.
  /// For the process that leads.
  std::vector<float> final_weights();

  /// Names the tensor that went bad first, on the first device of this process where one did.
  std::string first_bad_tensor() const;

  /// Calls work for every device's replica, on all devices of all processes at the same time: for what is collective.
  void on_each_device(const std::function<void(Replica&)>& work);

 private:
  Replica make_replica(const device::Shard& shard, bool keeps_examples) const;
  Evaluation evaluate_first(const Weights& weights);
  Index group_size(const device::Shard& shard, Index parameters) const;
  void advance(Replica& replica, StepOutcome& outcome) const;
  void advance_probed(std::size_t device, StepOutcome& outcome);
  void run_group(Replica& replica, Range group, StepOutcome& outcome) const;
  void take_batch(Replica& replica, const BatchPlace& place) const;
  BatchPlace behind(const BatchPlace& place, const Replica& replica) const;
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
  std::vector<TheoryProbe> probes_;  ///< of the same; none where the run is not probed
  Index step_ = 0;
};

}  // namespace onebit::sim
