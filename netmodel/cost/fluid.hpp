#pragma once

#include <span>

#include "netmodel/cost/cost_model.hpp"

namespace onebit::netmodel {

/// Simulates flows that share links fairly (max-min, equal weights), with rates that change whenever a flow begins or
/// ends. The simulation is slower than LinkLoad; both give the same time for a single plan whose flows share links
/// equally. It can also price plans that slow each other down: `jobs` is the number of jobs that run the same plan on
/// the same GPUs at the same time, and `background` are flows between GPUs that never end (their bytes are ignored).
class Fluid : public CostModel {
 public:
  explicit Fluid(Index jobs = 1, std::vector<Flow> background = {}) : jobs_(jobs), background_(std::move(background)) {}

  /// Throws ConfigError for a background flow that does not join two different GPUs of the job.
  Estimate cost(const Plan& plan, const Fabric& fabric) const override;

 private:
  Index jobs_;
  std::vector<Flow> background_;
};

/// A plan with its start time. Its phases run in sequence.
struct TimedPlan {
  const Plan* plan = nullptr;
  Seconds start{};
};

/// Returns the time at which each plan ends. `background` flows are the traffic of other jobs; they never end (their
/// bytes are ignored).
std::vector<Seconds> finish_times(std::span<const TimedPlan> plans, std::span<const Flow> background,
                                  const Fabric& fabric);

}  // namespace onebit::netmodel
