#pragma once
// Measures what a boundary's codec does to the gradients, by a second pass over the step's own examples in which
// everything crosses uncompressed. Does not change the run.

#include "device/comm/dense_sum.hpp"
#include "sim/models/model.hpp"

namespace onebit::sim {

/// The probe of one device. Its results are the same on every device.
class BoundaryProbe {
 public:
  /// Makes the probe's buffers. group: number of workers whose gradients are held at the same time.
  BoundaryProbe(const device::Shard& shard, Index parameters, Index group);

  /// Runs the pass again without the codec, for a batch whose gradients are already in `rows`.
  void pass(Model& model, const Weights& weights, Batch& batch, const GradientRows& rows);
  /// Takes both gradients of every worker of the group: the one in `coded`, which was computed with the codec, and the
  /// one that pass() has computed without the codec.
  void absorb(Range group, const float* coded);
  /// Adds the dot product and the squared norms of the two mean gradients to `agreement`. Collective.
  void add(BoundarySums::Agreement& agreement);

 private:
  device::Shard shard_;
  Index parameters_;
  device::DenseSum coded_sum_, plain_sum_;
  device::Buffer<float> rows_;           ///< gradients without the codec, [workers of a group][parameters]
  device::Buffer<float> coded_, plain_;  ///< mean gradients
};

}  // namespace onebit::sim
