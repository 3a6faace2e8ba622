#pragma once
// Clipping gradients to a bound on their norm.

#include "optim/optimizer.hpp"

namespace onebit::optim {

/// Clips the mean gradient by its norm, without waiting for the norm on the host.
class MeanClipping {
 public:
  MeanClipping(const Problem& problem, double bound);

  /// Computes the clipping factor of a mean gradient, in device memory, valid until the next call; null if there is no
  /// bound.
  const float* factor(const device::Buffer<float>& mean);
  /// Reports gradient norm and clipped share of the last mean gradient.
  void report(StepReport& report) const;

 private:
  device::Device device_;
  double bound_;
  device::Chunks whole_;
  device::Buffer<float> factor_;
  device::Future<double> square_;  ///< squared norm of the last mean gradient
};

/// Clips before an exchange: every worker's gradient by its own norm, the only norm that is known then.
class LocalClipping {
 public:
  LocalClipping(const Problem& problem, double bound);

  /// Starts a step.
  void begin() { squares_.clear(); }
  /// Computes `scale` times the clipping factor of each row of a group, in device memory, valid until the next call.
  const float* factors(Range group, const float* gradients, Index stride, double scale);
  /// Reports gradient norm and clipped share over all workers; nothing without a bound, since no norms are computed
  /// then. Collective if there is a bound.
  void report(StepReport& report) const;

 private:
  device::Shard shard_;
  double bound_;
  device::Chunks row_;
  device::Buffer<float> factors_;
  std::vector<device::Future<double>> squares_;  ///< squared norms of this device's workers, by groups
};

}  // namespace onebit::optim
