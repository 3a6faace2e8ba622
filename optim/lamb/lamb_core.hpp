#pragma once
// What LAMB and 1-bit LAMB share.

#include "optim/adam/adam_core.hpp"

namespace onebit::optim {

/// Throws ConfigError naming the hyper-parameter that is out of range.
void check_lamb(const LambConfig& config);

/// One LAMB update with the mean of the gradients that were absorbed: every tensor moves by its trust ratio
/// ||x|| / ||u||, clamped to [min_coeff, max_coeff], or 1 where a norm is 0; u is Adam's direction with the weight
/// decay. Returns the trust ratios. Fills the report.
std::vector<double> lamb_update(AdamCore& core, const LambConfig& config, Index t, double lr, device::Buffer<float>& x,
                                StepReport& report);

}  // namespace onebit::optim
