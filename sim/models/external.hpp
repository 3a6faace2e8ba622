#pragma once

#include "sim/models/external_program.hpp"

namespace onebit::sim {

/// A model that a user's program computes (docs/external-model.md), in one process for each device. Weights and batches
/// go to the program, and gradients and losses come back, through shared memory. The program may round in any way. A
/// run gives bitwise identical results for any worker group and any devices if the gradient that the program computes
/// for a worker does not depend on the other workers in the request. On a device that only counts memory, the program
/// is only asked for its layout.
class ExternalModel final : public Model {
 public:
  /// Starts the program. Throws ConfigError if it cannot be started or is not a worker program.
  ExternalModel(const device::Device& device, const ExternalSpec& spec);

  const std::vector<compress::Tensor>& tensors() const override { return layout_.tensors; }
  /// Asks the program for its initial weights. Throws ConfigError if the program has no initial weights.
  std::vector<float> initial_weights(std::uint32_t seed) const override { return program_->initial_weights(seed); }
  /// Throws WorkerError if the program fails.
  GradientPass gradients(const Weights& weights, const Batch& batch, const GradientRows& rows) override;
  /// Returns 0, because the number is not known.
  double gradient_flops(Index) const override { return 0; }
  bool reads_host_features() const override { return true; }
  /// Throws WorkerError if the program fails.
  Evaluation evaluate(const Weights& weights, const Batch& batch) override;

 private:
  void load(const Weights& weights, const Batch& batch, bool with_gradients);
  void count(const Weights& weights, const Batch& batch, bool with_gradients) const;
  void take_row(const GradientRows& rows, Index worker);

  device::Device device_;
  std::unique_ptr<ExternalProgram> program_;  ///< null on a device that only counts memory
  ExternalLayout layout_;
  std::vector<float> before_;  ///< old values of a row that gradients are added to
};

}  // namespace onebit::sim
