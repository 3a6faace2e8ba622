#pragma once

#include "device/comm/dense_sum.hpp"
#include "optim/adam/adam_core.hpp"

namespace onebit::optim {

/// The variance as it would be if it had not been frozen. It is updated with the workers' mean gradient, clipped as in
/// a dense step. Only probes read it, so the averaging of the gradients is not counted as traffic.
class ShadowVariance {
 public:
  /// Starts from the variance at the freeze, `variance` [parameters].
  ShadowVariance(const Problem& problem, const OptimizerConfig& config, const device::Buffer<float>& variance);

  void absorb(Range group, const float* gradients, Index stride) { sum_.absorb(group, gradients, stride); }
  /// Updates the variance with the mean of the absorbed gradients. Collective.
  void update(const AdamStep& step);

  const device::Buffer<float>& variance() const { return variance_; }
  void visit_state(device::StateVisitor& visitor) { visitor.shared("variance", variance_); }

 private:
  device::Device device_;
  MeanClipping clipping_;
  device::DenseSum sum_;
  device::Buffer<float> mean_, variance_;
};

}  // namespace onebit::optim
