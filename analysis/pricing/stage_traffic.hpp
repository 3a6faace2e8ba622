#pragma once
// The planned traffic of an optimizer. The optimizer takes its first steps on a planning device, which computes and
// stores nothing.

#include <span>

#include "analysis/log/stages.hpp"
#include "optim/config.hpp"

namespace onebit::analysis {

/// A run whose exchanges are planned.
struct TrafficPlan {
  optim::OptimizerConfig optimizer;
  Index workers = 1, parameters = 0;
  /// The model's tensors, which add up to `parameters`; empty: not known. Used only for codecs whose volume depends on
  /// the tensors' shapes; for all other codecs, the model is planned as a single vector.
  std::span<const netmodel::TensorShape> tensors = {};
  /// Number of steps of the run. Only optimizers with their own schedule (optim::StepSchedule) read it.
  Index steps = 1;
};

/// Returns the traffic of the stages, in order. For an optimizer with its own schedule, a stage contains all of its
/// steps in the run, counted by kind; otherwise all steps of a stage are of one kind. To keep the number of planned
/// steps small, every freeze policy is replaced by an early freeze, except for the policy `never`, which has no
/// compression stage; ramps and dense steps at the start are shortened. Throws what the optimizer throws, and
/// ConfigError for traffic that depends on the data (CADA, codecs with payloads of variable size), for traffic that
/// depends on shapes that are not known (PowerSGD), for refreshes of the variance, for more than 2^56 elements over all
/// workers, and for more than 1e8 steps of a schedule.
std::vector<StageTraffic> plan_stages(const TrafficPlan& plan);

}  // namespace onebit::analysis
