#pragma once
// What an optimizer would send, without a run: it takes its first steps on a device that only plans.

#include "analysis/log/stages.hpp"
#include "optim/config.hpp"

namespace onebit::analysis {

/// Returns the traffic of the stages in order, for a model that is a single vector. Every policy freezes early here;
/// one that never freezes has no compression stage. Throws what the optimizer throws, and ConfigError for what cannot
/// be known without data (CADA, codecs with thresholds, PowerSGD's matrices).
std::vector<StageTraffic> plan_stages(optim::OptimizerConfig config, Index workers, Index parameters);

}  // namespace onebit::analysis
