#pragma once
// What Adam and its compressed relatives share: moments, the dense step with clipping, bias correction.

#include "compress/channel.hpp"
#include "device/chunks.hpp"
#include "optim/kernels.hpp"
#include "optim/optimizer.hpp"

namespace onebit::optim {

/// Throws ConfigError naming the hyper-parameter that is out of range.
void check_adam(const OptimizerConfig& config);

class AdamCore {
 public:
  AdamCore(const Problem& problem, const OptimizerConfig& config);

  const FreezePolicy& freeze_policy() const { return policy_; }

  Index parameters() const { return parameters_; }
  device::Buffer<float>& momentum() { return momentum_; }
  const device::Buffer<float>& momentum() const { return momentum_; }
  const device::Buffer<float>& variance() const { return variance_; }

  void absorb_dense(Range group, const float* gradients, Index stride);

  /// Averages what was absorbed and updates: update t = 1, 2, ... Fills the report.
  void dense_update(Index t, double lr, device::Buffer<float>& x, StepReport& report);

  /// Averages what was absorbed, no more. Fills the report's traffic and times.
  void average_dense(StepReport& report);

  /// The numbers of update t with the variance of update `variance_t` (bias corrections).
  AdamStep numbers(Index t, Index variance_t, double lr) const;

  /// Applies the momentum with the frozen variance; returns ||x_t - x_{t-1}||_2.
  double frozen_update(const AdamStep& step, bool mask, device::Buffer<float>& x);

  /// Sum over [rows] x [parameters] of a kernel (row, segment, i) -> double; one sum a row.
  template <class Kernel>
  std::vector<double> sum(Index rows, Kernel kernel) const;

  /// Clipping factor for a gradient norm; 1 when the norm is below the bound or clipping is off.
  double clip_factor(double norm) const;
  bool clips() const { return config_.clip > 0; }

 private:
  device::Device device_;
  double absorb_seconds_ = 0;  ///< of the running step
  OptimizerConfig config_;
  FreezePolicy policy_;
  StabilityRatio stability_;
  Index parameters_;
  device::Chunks whole_;
  compress::DenseMean channel_;
  device::Buffer<float> mean_;
  device::Buffer<float> momentum_;
  device::Buffer<float> variance_;
};

}  // namespace onebit::optim
