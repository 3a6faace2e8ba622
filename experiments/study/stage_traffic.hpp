#pragma once
// What an optimizer would send, without a run: it takes its first steps on a device that only counts.

#include "analysis/log/stages.hpp"
#include "optim/config.hpp"

namespace onebit::experiments {

/// In the order of the stages, of a model that is one vector. A freeze comes early, whatever the policy; a policy that
/// never freezes leaves the compression stage out. Throws what the optimizer throws, and ConfigError for what cannot be
/// known without data (CADA, codecs with thresholds, PowerSGD's matrices).
std::vector<analysis::StageTraffic> plan_stages(optim::OptimizerConfig config, Index workers, Index parameters);

}  // namespace onebit::experiments
