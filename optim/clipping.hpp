#pragma once
// Clipping gradients to a bound on their norm.

#include "optim/optimizer.hpp"

namespace onebit::optim {

/// Factor for a gradient of this norm: 1 when it is within the bound or the bound is 0 (off).
double clip_factor(double norm, double bound);

/// Clipping before an exchange: every worker by its own norm (no other norm is known then).
class LocalClipping {
 public:
  LocalClipping(const Problem& problem, double bound);

  /// Starts a step.
  void begin() { squared_norms_.clear(); }
  /// `scale` times the clipping factor of each row of a group, in device memory until the next call.
  const float* factors(Range group, const float* gradients, Index stride, double scale);
  /// Gradient norm and clipped share over all workers; norms are known only where clipping asks for them. Collective.
  void report(StepReport& report) const;

 private:
  device::Shard shard_;
  double bound_;
  device::Chunks row_;
  device::Buffer<float> factors_;
  std::vector<double> squared_norms_;  ///< of this device's workers
};

}  // namespace onebit::optim
