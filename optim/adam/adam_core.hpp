#pragma once
// The common part of the Adam family: moments, the dense step with clipping, bias correction, and rules per tensor.

#include "compress/channels/channel.hpp"
#include "device/launch/chunks.hpp"
#include "optim/adam/adam_kernels.hpp"
#include "optim/common/clipping.hpp"
#include "optim/common/sums.hpp"
#include "optim/optimizer.hpp"

namespace onebit::optim {

/// Throws ConfigError if `valid` is false. The error names "optimizer.<option>", its value and its range.
void check_option(bool valid, const std::string& option, double value, const std::string& range);

/// Throws ConfigError, naming the option, if a hyper-parameter of Adam is out of range.
void check_adam(const OptimizerConfig& config);

/// Returns the configuration with freezing switched off, for optimizers that do not freeze by policy.
OptimizerConfig without_freeze(OptimizerConfig config);

/// The bias of the variance under this configuration: beta2, and whether the optimizer removes the bias.
VarianceBias variance_bias(const OptimizerConfig& config);

/// Coefficients of update t. variance_t: number of updates of the variance so far, for bias correction.
AdamStep adam_numbers(const OptimizerConfig& config, const VarianceBias& bias, Index t, Index variance_t, double lr);

class AdamCore {
 public:
  /// Makes the common part of an optimizer. dry_runs: number of steps that update nothing, which is passed to the
  /// freeze policy. Throws ConfigError for a no-decay pattern that matches no tensor.
  AdamCore(const Problem& problem, const OptimizerConfig& config, Index dry_runs = 0);

  const device::Device& device() const { return device_; }
  const VarianceBias& bias() const { return bias_; }
  const FreezePolicy& freeze_policy() const { return policy_; }
  /// Whether to freeze the variance now, after `updates` dense updates. Called once per update.
  bool freeze_now(Index updates, const StepReport& report) { return policy_.freeze_now(updates, report.stability); }

  Index parameters() const { return parameters_; }
  const device::Chunks& tensors() const { return tensors_; }
  const device::Buffer<TensorRule>& rules() const { return device_rules_; }
  /// Whether any tensor has weight decay.
  bool decays() const;
  /// Sets the factor by which the learning rate of each tensor is multiplied from now on.
  void set_coefficients(const std::vector<double>& coefficients);

  void visit_state(device::StateVisitor& visitor);

  device::Buffer<float>& momentum() { return momentum_; }
  const device::Buffer<float>& momentum() const { return momentum_; }
  device::Buffer<float>& variance() { return variance_; }
  const device::Buffer<float>& variance() const { return variance_; }
  /// Buffer for an averaged gradient, [parameters].
  device::Buffer<float>& mean() { return mean_; }

  void absorb_dense(Range group, const float* rows, Index stride);
  /// Averages the absorbed rows. Fills the report's traffic and times.
  void average_dense(device::Buffer<float>& mean, StepReport& report);

  /// Averages the absorbed gradients and makes update t = 1, 2, ... Fills the report.
  void dense_update(Index t, double lr, device::Buffer<float>& x, StepReport& report);

  /// Computes the clipping factor of the averaged gradient. Fills the report; returns the coefficients of update t = 1,
  /// 2, ...
  AdamStep clipped_step(Index t, double lr, StepReport& report);
  /// Makes one Adam update with the averaged gradient. Fills the report.
  void update(const AdamStep& step, device::Buffer<float>& x, StepReport& report);
  /// Moves the parameters along the moments without updating the moments. Unpacks the momentum if it is packed. moving
  /// [tensors]: nonzero for tensors whose variance is still updated, in which no coordinate is masked; null if there
  /// are none. Fills the report.
  void apply(const AdamStep& step, bool mask, device::Buffer<float>& x, StepReport& report,
             const std::optional<device::SignVector>& packed = {}, const std::uint8_t* moving = nullptr);
  /// Records the norm of the variance after an update of the variance. Fills the report's stability.
  void watch_variance(StepReport& report);

  /// Coefficients of update t. variance_t: number of updates of the variance so far, for bias correction.
  AdamStep numbers(Index t, Index variance_t, double lr) const {
    return adam_numbers(config_, bias_, t, variance_t, lr);
  }

  /// Denominator of an update with a variance that has been updated `variance_t` times.
  Denominator denominator(const device::Buffer<float>& variance, Index variance_t) const;

  /// Sums a kernel (row, tensor, i) -> double over each tensor in each row, where i counts from the tensor's start.
  /// Returns [rows] x [tensors] sums.
  template <class Kernel>
  device::Future<double> tensor_sums(Index rows, const Kernel& kernel) const {
    return sums(device_, rows, tensors_, kernel);
  }

 private:
  device::Device device_;
  device::Seconds absorb_seconds_;  ///< time that absorbing took in this step
  OptimizerConfig config_;
  const VarianceBias bias_;
  FreezePolicy policy_;
  StabilityWatch stability_;
  Index parameters_;
  device::Chunks whole_, tensors_;
  std::vector<TensorRule> rules_;
  device::Buffer<TensorRule> device_rules_;
  compress::DenseMean channel_;
  MeanClipping clipping_;
  device::Buffer<float> mean_;
  device::Buffer<float> momentum_;
  device::Buffer<float> variance_;
};

}  // namespace onebit::optim
