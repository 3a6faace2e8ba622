#pragma once

#include <span>

#include "optim/optimizer.hpp"

namespace onebit::optim {

/// The coordinates whose variance was 0 when it was frozen. One bit cannot encode a momentum of 0, so their momentum is
/// kept at 0. This class watches for gradients at these coordinates.
class MaskedCoordinates {
 public:
  /// Finds the masked coordinates. frozen: the parts of the variance that are frozen; the other parts have no masked
  /// coordinates.
  MaskedCoordinates(const device::Shard& shard, const device::Buffer<float>& variance, std::span<const Range> frozen);
  MaskedCoordinates(const device::Shard& shard, const device::Buffer<float>& variance);

  Index count() const { return coordinates_.size(); }

  /// Finds the masked coordinates again, after the variance has changed or more of it has been frozen.
  void follow(const device::Buffer<float>& variance, std::span<const Range> frozen);

  /// Visits the flag that says whether the event was reported. The coordinates are not visited, because they follow
  /// from the frozen variance.
  void visit_state(device::StateVisitor& visitor) { visitor.number("reported", reported_); }

  /// Checks the gradients of a group of this device's workers.
  void watch(Range group, const float* gradients, Index stride);
  /// Once per run, reports an event if any worker on any device has a gradient at masked coordinates; the event names
  /// the first such worker. Waits for the device. Collective.
  void report(StepReport& report);

 private:
  bool watches() const { return count() > 0 && !reported_; }

  device::Shard shard_;
  device::Buffer<Index> coordinates_;
  device::Buffer<double> found_;   ///< number of masked coordinates with a gradient, [workers of this device]
  device::Future<double> counts_;  ///< found_ on the host
  bool reported_ = false;
};

}  // namespace onebit::optim
