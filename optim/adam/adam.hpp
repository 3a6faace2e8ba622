#pragma once

#include "optim/adam/adam_core.hpp"

namespace onebit::optim {

/// Adam on the mean gradient (Kingma and Ba 2015, Algorithm 1), with decoupled weight decay (AdamW) and optional bias
/// correction; eps is outside the square root, as in PyTorch. AdamQuirks lists what deepspeed semantics change.
///
///   g  = clip(mean of the workers' gradients), by its global norm
///   m  = beta1 m + (1 - beta1) g
///   v  = beta2 v + (1 - beta2) g^2
///   x -= lr (m c1 / (sqrt(v) c2 + eps) + weight_decay x)
///
/// c1 = 1 / (1 - beta1^t) and c2 = 1 / sqrt(1 - beta2^t) at step t; both are 1 without bias correction.
class Adam final : public Optimizer {
 public:
  Adam(const Problem& problem, const OptimizerConfig& config) : core_(problem, without_freeze(config)) {}

  StateView state() const override {
    const Denominator denominator = core_.denominator(core_.variance(), step());
    return {.momentum = &core_.momentum(),
            .variance = &core_.variance(),
            .denominator = denominator,
            .shadow = denominator};
  }
  void visit_state(device::StateVisitor& visitor) override { core_.visit_state(visitor); }

 private:
  void do_absorb(Range group, const float* gradients, Index stride) override {
    core_.absorb_dense(group, gradients, stride);
  }
  StepReport do_finish(device::Buffer<float>& parameters) override {
    StepReport report;
    core_.dense_update(step(), lr(), parameters, report);
    return report;
  }

  AdamCore core_;
};

}  // namespace onebit::optim
