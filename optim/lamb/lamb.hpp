#pragma once

#include "optim/lamb/lamb_core.hpp"

namespace onebit::optim {

/// LAMB (You et al., ICLR 2020, Algorithm 2, phi the identity) on the mean gradient, with weight decay inside the norm
/// of the direction. The trust ratio ||x|| / ||u|| is clamped to [min_coeff, max_coeff] as in DeepSpeed (the paper
/// clamps nothing but says that phi may), and 1 where a norm is 0. Bias correction is an option, on by default, eps
/// outside the square root. In deepspeed semantics there is no bias correction.
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
