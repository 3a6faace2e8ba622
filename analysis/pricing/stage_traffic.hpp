#pragma once
// The planned traffic of an optimizer. It takes its first steps on a planning device, which computes nothing.

#include "analysis/log/stages.hpp"
#include "optim/config.hpp"

namespace onebit::analysis {

/// Returns the traffic of the stages in order, for a model that is a single vector. To plan few steps, every freeze
/// policy is replaced by an early freeze, except the policy never, which has no compression stage. Throws what the
/// optimizer throws, and ConfigError for traffic that depends on the data or the tensors (CADA, codecs with thresholds,
/// PowerSGD).
std::vector<StageTraffic> plan_stages(optim::OptimizerConfig config, Index workers, Index parameters);

}  // namespace onebit::analysis
