#pragma once

#include "optim/two_stage/two_stage.hpp"

namespace onebit::optim {

/// 1-bit Adam (Tang et al., ICML 2021, Algorithm 1). Update t, with g_w the gradient of worker w:
///
///   warm-up:      Adam on the mean gradient, until the freeze after update K
///   compression:  u_w = beta1 m + (1 - beta1) clip(g_w)              at every worker, clipped by its own norm
///                 m   = compressed mean of u_w, with error feedback at workers and servers
///                 m   = 0 where v = 0                                masked coordinates
///                 x  -= lr (m c1 / (sqrt(v) c2 + eps) + weight_decay x), with the frozen v
///
/// c1 = 1 / (1 - beta1^t) and c2 = 1 / sqrt(1 - beta2^K); both are 1 without bias correction. TwoStage describes both
/// semantics, and TensorFreeze describes freeze.scope tensor.
class OnebitAdam : public TwoStage {
 public:
  OnebitAdam(const Problem& problem, const OptimizerConfig& config);

 protected:
  void send(Range group, const float* gradients, Index stride, const float* factors) override;

 private:
  void dense_update(device::Buffer<float>& x, StepReport& report) final;
  void refreshing_update(const AdamStep& step, device::Buffer<float>& x, StepReport& report) final;
  void make_exchange() override;
  void receive(StepReport& report) override;
  void frozen_update(device::Buffer<float>& x, StepReport& report) final;
  /// The exchanged momentum, if it stays packed until the update, which unpacks it while reading; otherwise empty.
  std::optional<device::SignVector> packed_momentum() const;
};

/// "1-bit Adam (32-bits)", the ablation of Tang et al. 2021: after the freeze, the workers' momenta are averaged
/// uncompressed, by the dense all-reduce. It differs from Adam only in the frozen variance (and in its consequences:
/// masked coordinates, and clipping by each worker's own norm).
class OnebitAdam32 final : public OnebitAdam {
 public:
  using OnebitAdam::OnebitAdam;

 private:
  void make_exchange() override {}
  void send(Range group, const float* gradients, Index stride, const float* factors) override;
  void receive(StepReport& report) override;

  device::Buffer<float> rows_;  ///< momenta of a group, [group][parameters]
};

}  // namespace onebit::optim
