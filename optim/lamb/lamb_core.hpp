#pragma once
// The common part of LAMB and 1-bit LAMB.

#include "optim/adam/adam_core.hpp"

namespace onebit::optim {

/// Throws ConfigError, naming the option, if a hyper-parameter of LAMB is out of range.
void check_lamb(const LambConfig& config);

/// Makes one LAMB update with the mean of the absorbed gradients: every tensor moves along u, Adam's direction with
/// weight decay, by lr times its trust ratio ||x|| / ||u||, clamped to [min_coeff, max_coeff], or 1 if a norm is 0.
/// Returns the trust ratios [tensors]. Fills the report.
std::vector<double> lamb_update(AdamCore& core, const LambConfig& config, Index t, double lr, device::Buffer<float>& x,
                                StepReport& report);

}  // namespace onebit::optim
