#pragma once
// Reference cases of a gradient trace: hyper-parameters, and how far a replay is from the recorded parameters.

#include <optional>

#include "experiments/options/options.hpp"
#include "experiments/study/replay.hpp"
#include "sim/run/trace.hpp"

namespace onebit::experiments {

/// Largest relative L2 difference of the displacements, ||x - x_ref|| / ||x_ref - x0||, over the steps.
struct Deviation {
  double worst = 0;
  Index step = 0;

  void take(double difference, Index at_step);
};

/// The deviations of a replay from a case.
struct CaseDeviation {
  Deviation first;  ///< of params, worker 0's
  Deviation all;    ///< of params_all_workers: the worst worker
  bool has_all = false;
};

/// Compares a step, counted from 1. x: [workers][parameters], or one row that all workers share.
void compare_step(const sim::GradientTrace& trace, const std::string& name, Index step, const std::vector<float>& x,
                  CaseDeviation& deviation);

/// Hyper-parameters and random numbers of the case, if one is named, and options, which win. Throws ConfigError, also
/// where the program does not have the case's method.
ReplayPlan plan_replay(const sim::GradientTrace& trace, const std::string& name, const Settings& more,
                       std::optional<double> penalty = {});

/// Replays a trace and compares with the case, if one is named; the parameters go to `out`, if that is a path.
/// Throws what Replay throws, IoError where nothing can be written.
CaseDeviation replay_case(const sim::GradientTrace& trace, const ReplayPlan& plan, const std::string& name,
                          const std::string& out = "", bool overwrite = false);

}  // namespace onebit::experiments
