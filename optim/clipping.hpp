#pragma once
// Clipping gradients to a bound on their norm.

#include "optim/optimizer.hpp"

namespace onebit::optim {

/// Factor for the mean gradient, by its squared norm. Waits for it where there is a bound.
double mean_factor(const device::Fetched<double>& square, double bound);
/// The same. Fills the report.
double clip_mean(const device::Fetched<double>& square, double bound, StepReport& report);

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
  std::vector<device::Fetched<double>> squares_;  ///< of the norms of this device's workers, by groups
};

}  // namespace onebit::optim
