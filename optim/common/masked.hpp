#pragma once

#include <span>

#include "optim/optimizer.hpp"

namespace onebit::optim {

/// The coordinates whose variance was zero when it was frozen: one bit cannot carry the zero of their momentum, so it
/// stays 0. Watches for a gradient that arrives at one of them after all.
class MaskedCoordinates {
 public:
  /// frozen: the parts of the variance that are; the others have no masked coordinates.
  MaskedCoordinates(const device::Shard& shard, const device::Buffer<float>& variance, std::span<const Range> frozen);
  MaskedCoordinates(const device::Shard& shard, const device::Buffer<float>& variance);

  Index count() const { return coordinates_.size(); }

  /// The variance has changed, or more of it is frozen: takes its zeros.
  void follow(const device::Buffer<float>& variance, std::span<const Range> frozen);

  /// The coordinates themselves follow from the frozen variance.
  void visit_state(device::StateVisitor& visitor) { visitor.number("reported", reported_); }

  /// Looks at the gradients of a group of this device's workers.
  void watch(Range group, const float* gradients, Index stride);
  /// A gradient is an event once in a run, of the first worker on any device. Waits for the device. Collective.
  void report(StepReport& report);

 private:
  bool watches() const { return count() > 0 && !reported_; }

  device::Shard shard_;
  device::Buffer<Index> coordinates_;
  device::Buffer<double> found_;   ///< [workers of this device]: coordinates with a gradient in the running step
  device::Future<double> counts_;  ///< the same on the host
  bool reported_ = false;
};

}  // namespace onebit::optim
