#pragma once
// Clipping gradients to a bound on their norm.

#include "optim/optimizer.hpp"

namespace onebit::optim {

/// Clipping of the mean gradient by its norm, which the host need not know for it.
class MeanClipping {
 public:
  MeanClipping(const Problem& problem, double bound);

  /// The factor for a mean gradient, in device memory until the next call; null where there is no bound.
  const float* factor(const device::Buffer<float>& mean);
  /// Norm and clipped share of the last one.
  void report(StepReport& report) const;

 private:
  device::Device device_;
  double bound_;
  device::Chunks whole_;
  device::Buffer<float> factor_;
  device::Future<double> square_;  ///< of the norm
};

/// Clipping before an exchange: every worker by its own norm (no other norm is known then).
class LocalClipping {
 public:
  LocalClipping(const Problem& problem, double bound);

  /// Starts a step.
  void begin() { squares_.clear(); }
  /// `scale` times the clipping factor of each row of a group, in device memory until the next call.
  const float* factors(Range group, const float* gradients, Index stride, double scale);
  /// Gradient norm and clipped share over all workers; norms are known only where clipping asks for them. Collective.
  void report(StepReport& report) const;

 private:
  device::Shard shard_;
  double bound_;
  device::Chunks row_;
  device::Buffer<float> factors_;
  std::vector<device::Future<double>> squares_;  ///< of the norms of this device's workers, by groups
};

}  // namespace onebit::optim
