#pragma once

#include "compress/channels/compressed_mean.hpp"
#include "optim/adam/adam_kernels.hpp"
#include "optim/optimizer.hpp"

namespace onebit::optim {

/// The phase of 0/1 Adam after its variance is frozen: every worker has a momentum of its own and a drift, what it has
/// moved since the workers met last.
class ZeroOneLocal {
 public:
  /// variance [parameters]: of the freeze.
  ZeroOneLocal(const Problem& problem, const OptimizerConfig& config, const device::Buffer<float>& variance);

  /// momentum [parameters]: of the freeze. x: the workers' weights, equal now.
  void start(const device::Buffer<float>& momentum, const device::Buffer<float>& x);

  void visit_state(device::StateVisitor& visitor);

  /// [workers of this device][parameters]
  const device::Buffer<float>& momentum() const { return momentum_; }

  /// Takes gradients into the momenta of rows [first, ...) of this device; factors: what each is multiplied with.
  void absorb(Range rows, const float* gradients, Index stride, const float* factors);

  /// A silent step, and one at whose end the workers meet. Squared length of each worker's move.
  std::vector<double> step(const AdamStep& numbers, device::Buffer<float>& x);
  std::vector<double> meet(const AdamStep& numbers, compress::CompressedMean& exchange, device::Buffer<float>& x,
                           StepReport& report);

 private:
  void decay(const AdamStep& numbers);
  std::vector<double> meet_at_anchor(const AdamStep& numbers, device::Buffer<float>& x);
  void exchange_drift(const device::Buffer<float>& drift, compress::CompressedMean& exchange, StepReport& report);
  float take_share(double sign);
  bool deepspeed() const { return config_.semantics == Semantics::deepspeed; }
  const device::Device& device() const { return problem_.shard.device; }
  Index rows() const { return problem_.shard.own().count; }

  Problem problem_;
  OptimizerConfig config_;
  Index parameters_;
  const device::Buffer<float>& variance_;
  device::Buffer<float> decay_;     ///< [parameters]
  device::Buffer<float> momentum_;  ///< [workers of this device][parameters]
  device::Buffer<float> drift_;     ///< the same; paper: before the division by Adam's denominator
  device::Buffer<float> scaled_;    ///< the same; deepspeed: the drift as it is exchanged
  device::Buffer<float> anchor_;    ///< [parameters]; paper: where the workers met last, decayed since
  device::Buffer<float> mean_;      ///< [parameters]: what came back
  device::Buffer<float> ones_;      ///< [workers of this device]
  double rates_ = 0;                ///< sum of the learning rates (times bias correction) since the last meeting
};

}  // namespace onebit::optim
