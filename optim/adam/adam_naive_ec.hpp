#pragma once

#include "optim/adam/adam_core.hpp"
#include "optim/common/clipping.hpp"

namespace onebit::optim {

/// "Adam (1-bit Naive)", the ablation of Tang et al. 2021: from the very first step, the workers' gradients go through
/// the error-compensated exchange, and Adam uses its result as the mean gradient in both moments. The errors telescope
/// in the momentum but not in the variance, which squares them. This is the paper's argument for freezing the variance.
///
/// Weight decay and bias correction are as in Adam; every worker clips its gradient by its own norm. The released code
/// has no such optimizer. In deepspeed semantics, this optimizer has AdamQuirks and 1-bit Adam's padding_as_data.
class AdamNaiveEc final : public Optimizer {
 public:
  AdamNaiveEc(const Problem& problem, const OptimizerConfig& config);

  StateView state() const override;
  void visit_state(device::StateVisitor& visitor) override {
    core_.visit_state(visitor);
    exchange_.visit_state(visitor);
  }

 private:
  void do_begin() override;
  void do_absorb(Range group, const float* gradients, Index stride) override;
  StepReport do_finish(device::Buffer<float>& parameters) override;

  AdamCore core_;
  LocalClipping clipping_;
  compress::CompressedMean exchange_;
  device::Seconds encode_seconds_;  ///< time that encoding took in this step
};

}  // namespace onebit::optim
