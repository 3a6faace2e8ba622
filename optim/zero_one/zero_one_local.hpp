#pragma once

#include "compress/channels/compressed_mean.hpp"
#include "optim/adam/adam_kernels.hpp"
#include "optim/optimizer.hpp"
#include "optim/quirks.hpp"

namespace onebit::optim {

/// The phase of 0/1 Adam after its variance is frozen: every worker has its own momentum and its own drift, which is
/// its move since the last synchronisation.
class ZeroOneLocal {
 public:
  /// Makes the local phase. variance [parameters]: the frozen variance, which must outlive this object.
  ZeroOneLocal(const Problem& problem, const OptimizerConfig& config, const ZeroOneAdamQuirks& quirks,
               const device::Buffer<float>& variance);

  /// Starts the phase with the momentum [parameters] and the weights x at the freeze, when all workers still have the
  /// same weights.
  void start(const device::Buffer<float>& momentum, const device::Buffer<float>& x);

  void visit_state(device::StateVisitor& visitor);

  /// The momenta, [workers of this device][parameters].
  const device::Buffer<float>& momentum() const { return momentum_; }

  /// Adds gradients to the momenta of the given rows of this device. factors: the factor of each row's gradient.
  void absorb(Range rows, const float* gradients, Index stride, const float* factors);

  /// step() makes a silent step, and synchronise() makes a step that ends with a synchronisation. Both return the
  /// squared length of each worker's move.
  std::vector<double> step(const AdamStep& numbers, device::Buffer<float>& x);
  std::vector<double> synchronise(const AdamStep& numbers, compress::CompressedMean& exchange, device::Buffer<float>& x,
                                  StepReport& report);

 private:
  void decay(const AdamStep& numbers);
  std::vector<double> synchronise_at_anchor(const AdamStep& numbers, device::Buffer<float>& x);
  void exchange_drift(const device::Buffer<float>& drift, compress::CompressedMean& exchange, StepReport& report);
  float take_share(double sign);
  const device::Device& device() const { return problem_.shard.device; }
  Index rows() const { return problem_.shard.own().count; }

  Problem problem_;
  OptimizerConfig config_;
  const ZeroOneAdamQuirks quirks_;
  Index parameters_;
  const device::Buffer<float>& variance_;
  device::Buffer<float> decay_;     ///< [parameters]
  device::Buffer<float> momentum_;  ///< [workers of this device][parameters]
  device::Buffer<float> drift_;   ///< shaped like momentum_; not divided by Adam's denominator, unless subtracts_drift
  device::Buffer<float> scaled_;  ///< shaped like momentum_; with subtracts_drift, the drifts as they are exchanged
  device::Buffer<float> anchor_;  ///< point of the last synchronisation, decayed since then, [parameters]
  device::Buffer<float> mean_;    ///< the result of the exchange, [parameters]
  device::Buffer<float> ones_;    ///< factors of 1, [workers of this device]
  double rates_ = 0;              ///< sum of the learning rates (bias-corrected) since the last synchronisation
};

}  // namespace onebit::optim
