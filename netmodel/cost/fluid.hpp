#pragma once

#include <span>

#include "netmodel/cost/cost_model.hpp"

namespace onebit::netmodel {

/// Flows share links fairly (max-min, equal weights), and rates change whenever one begins or ends. Slower than
/// LinkLoad, and equal to it for one plan whose flows share links equally. It also prices what several plans do to each
/// other: `jobs` that run the same plan on the same GPUs at the same time, and `background` flows between GPUs that
/// never end (their bytes are ignored).
class Fluid : public CostModel {
 public:
  explicit Fluid(Index jobs = 1, std::vector<Flow> background = {}) : jobs_(jobs), background_(std::move(background)) {}

  /// Throws ConfigError for a background flow between GPUs that do not exist.
  Estimate cost(const Plan& plan, const Fabric& fabric) const override;

 private:
  Index jobs_;
  std::vector<Flow> background_;
};

/// A plan that begins at some time. Its phases run in sequence.
struct TimedPlan {
  const Plan* plan = nullptr;
  Seconds start{};
};

/// When each plan ends. `background` flows are other people's traffic: they never end (their bytes are ignored).
std::vector<Seconds> finish_times(std::span<const TimedPlan> plans, std::span<const Flow> background,
                                  const Fabric& fabric);

}  // namespace onebit::netmodel
