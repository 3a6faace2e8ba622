#pragma once

#include <span>

#include "netmodel/cost/cost_model.hpp"

namespace onebit::netmodel {

/// Flows share links fairly (max-min, equal weights), and rates change whenever one begins or ends. Slower than link
/// loads, and the same for one plan on its own; it knows what several plans do to each other: `jobs` that run the same
/// plan on the same GPUs at the same time, and `background` flows between GPUs (bytes do not count) that never end.
class Fluid : public CostModel {
 public:
  explicit Fluid(Index jobs = 1, std::vector<Flow> background = {}) : jobs_(jobs), background_(std::move(background)) {}

  /// Throws ConfigError for a background flow between GPUs that there are not.
  Estimate cost(const Plan& plan, const Fabric& fabric) const override;

 private:
  Index jobs_;
  std::vector<Flow> background_;
};

/// A plan that begins at some time. Its phases follow each other.
struct TimedPlan {
  const Plan* plan = nullptr;
  Seconds start{};
};

/// When each plan ends. `background` flows never do (their bytes do not count): other people's traffic. Throws
/// ConfigError where a flow has no link to go through.
std::vector<Seconds> finish_times(std::span<const TimedPlan> plans, std::span<const Flow> background,
                                  const Fabric& fabric);

}  // namespace onebit::netmodel
