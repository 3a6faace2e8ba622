#pragma once
// N data-parallel workers in one process: samples, gradients, optimizer. One step is one pass through it.

#include "sim/config.hpp"

namespace onebit::sim {

/// What a step left behind.
struct StepOutcome {
  Index step = 0;
  Index samples = 0;  ///< seen by all workers since the start
  double lr = 0;
  double loss = 0;                    ///< mean over workers, of the weights before the update
  std::vector<double> worker_losses;  ///< [workers]
  optim::StepReport report;
  double compute_seconds = 0;  ///< sampling, forward, backward
};

class VirtualCluster {
 public:
  /// Reads the data, makes model, weights and optimizer. Throws ConfigError, IoError.
  explicit VirtualCluster(const RunConfig& config);

  Index steps() const { return steps_; }
  Index step() const { return step_; }
  const DataSource& data() const { return *data_; }
  const Model& model() const { return *model_; }
  const optim::Optimizer& optimizer() const { return *optimizer_; }
  const device::Device& device() const { return device_; }
  const device::Buffer<float>& weights() const { return weights_; }
  /// Steps between the variances that variance_ratio compares.
  Index variance_lag() const;

  /// Runs the next step. Throws NumericError naming the first tensor that went bad when a loss is not finite; the
  /// weights are then those before the step.
  StepOutcome advance();

  /// Loss and accuracy on the held-out split.
  Evaluation evaluate();

  /// Names the tensor that went bad first: of the weights, else of the gradients; else the largest, whose product
  /// overflowed.
  std::string first_bad_tensor() const;

 private:
  double run_group(Range group, StepOutcome& outcome);

  RunConfig config_;
  device::Device device_;
  std::unique_ptr<DataSource> data_;
  std::unique_ptr<Model> model_;
  Index steps_;
  optim::Schedule schedule_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  device::Buffer<float> weights_;    ///< [parameters], shared by all workers
  device::Buffer<float> gradients_;  ///< [worker_group][parameters]
  Batch batch_;
  Index step_ = 0;
};

}  // namespace onebit::sim
