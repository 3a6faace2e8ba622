#pragma once

#include "optim/two_stage/two_stage.hpp"

namespace onebit::optim {

/// 1-bit Adam (Tang et al., ICML 2021, Algorithm 1): Adam until the variance is frozen, then every worker adds its own
/// gradient to the shared momentum and the momentum goes through the error-compensated 1-bit exchange; the frozen
/// variance preconditions the update. TwoStage says what both semantics are, TensorFreeze what freeze.scope tensor is.
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
  /// The exchanged momentum where it stays packed until the update, which unpacks it on its way through memory.
  std::optional<device::SignVector> packed_momentum() const;
};

/// "1-bit Adam (32-bits)", the ablation of Tang et al. 2021: after the freeze the workers' momenta are averaged
/// uncompressed, by the dense all-reduce. What it lacks against Adam is the moving variance alone.
class OnebitAdam32 final : public OnebitAdam {
 public:
  using OnebitAdam::OnebitAdam;

 private:
  void make_exchange() override {}
  void send(Range group, const float* gradients, Index stride, const float* factors) override;
  void receive(StepReport& report) override;

  device::Buffer<float> rows_;  ///< momenta of a group
};

}  // namespace onebit::optim
