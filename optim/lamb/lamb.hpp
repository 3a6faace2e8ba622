#pragma once

#include "optim/lamb/lamb_core.hpp"

namespace onebit::optim {

/// LAMB (You et al., ICLR 2020, Algorithm 2, with the paper's scaling function phi taken as the identity) on the mean
/// gradient, with weight decay inside the norm of the direction. The trust ratio is clamped as in DeepSpeed (the paper
/// allows phi to clamp, but uses no bounds itself). Bias correction is optional, on by default; eps is outside the
/// square root. AdamQuirks lists what deepspeed semantics change.
///
///   g  = clip(mean of the workers' gradients), by its global norm
///   m  = beta1 m + (1 - beta1) g
///   v  = beta2 v + (1 - beta2) g^2
///   u  = m c1 / (sqrt(v) c2 + eps) + weight_decay x                          c1, c2: bias corrections, as in Adam
///   x -= lr clamp(||x|| / ||u||, min_coeff, max_coeff) u, tensor by tensor    factor 1 if a norm is 0
class Lamb final : public Optimizer {
 public:
  Lamb(const Problem& problem, const OptimizerConfig& config)
      : core_(problem, without_freeze(config)), config_(config.lamb) {}

  StateView state() const override {
    const Denominator denominator = core_.denominator(core_.variance(), step());
    return {.momentum = &core_.momentum(),
            .variance = &core_.variance(),
            .tensors = &numbers_,
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
    numbers_.trust_ratio = lamb_update(core_, config_, step(), lr(), parameters, report);
    return report;
  }

  AdamCore core_;
  LambConfig config_;
  TensorNumbers numbers_;
};

}  // namespace onebit::optim
