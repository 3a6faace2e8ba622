#pragma once
// Clipping gradients to a bound on their norm.

#include "optim/optimizer.hpp"

namespace onebit::optim {

/// Clips the mean gradient by its norm, without waiting for the norm on the host.
class MeanClipping {
 public:
  MeanClipping(const Problem& problem, double bound);

  /// Computes the clipping factor of a mean gradient. The result is in device memory and valid until the next call;
  /// null if there is no bound.
  const float* factor(const device::Buffer<float>& mean);
  /// Reports the norm of the last mean gradient and whether it was clipped.
  void report(StepReport& report) const;

 private:
  device::Device device_;
  double bound_;
  device::Chunks whole_;
  device::Buffer<float> factor_;
  device::Future<double> square_;  ///< squared norm of the last mean gradient
};

/// Clips every worker's gradient before an exchange, by its own norm, because the norm of the mean is not yet known.
class LocalClipping {
 public:
  LocalClipping(const Problem& problem, double bound);

  /// Starts a step.
  void begin() { squares_.clear(); }
  /// Computes `scale` times the clipping factor of each row of a group. The result is in device memory and valid until
  /// the next call.
  const float* factors(Range group, const float* gradients, Index stride, double scale);
  /// Reports the gradient norm and the share of clipped gradients over all workers. Reports nothing if there is no
  /// bound, because no norms are computed then. Collective if there is a bound.
  void report(StepReport& report) const;

 private:
  device::Shard shard_;
  double bound_;
  device::Chunks row_;
  device::Buffer<float> factors_;
  std::vector<device::Future<double>> squares_;  ///< squared norms of this device's workers, group by group
};

}  // namespace onebit::optim
