#pragma once
// Reference cases of a gradient trace: hyper-parameters, and the deviation of a replay from the recorded parameters.

#include <optional>

#include "experiments/options/options.hpp"
#include "experiments/study/replay.hpp"
#include "experiments/study/training.hpp"
#include "sim/run/trace.hpp"

namespace onebit::experiments {

/// Largest relative L2 difference of the displacements, ||x - x_ref|| / ||x_ref - x0||, over the steps.
struct Deviation {
  double worst = 0;
  Index step = 0;

  void take(double difference, Index at_step);
};

/// Deviations of a replay from a case.
struct CaseDeviation {
  Deviation first;  ///< deviation of worker 0 from the dataset params
  Deviation all;    ///< deviation of the worst worker from the dataset params_all_workers
  bool has_all = false;
};

/// Compares one step, counted from 1, with the case. x: [workers][parameters], or one row that all workers share.
void compare_step(const sim::GradientTrace& trace, const std::string& name, Index step, const std::vector<float>& x,
                  CaseDeviation& deviation);

/// Combines the hyper-parameters and random numbers of the case, if one is named, with the options `more`, which take
/// precedence. Throws ConfigError on any failure, and also if the program does not have the case's method.
ReplayPlan plan_replay(const sim::GradientTrace& trace, const std::string& name, const Settings& more,
                       std::optional<double> penalty = {});

/// What a replay writes.
struct ReplayOutput {
  std::string parameters = {};  ///< file for the parameters after every step; empty: none
  std::string log = {};         ///< file for the log; empty: none
  bool overwrite = false;       ///< whether to replace existing files
  Origin origin = {};           ///< for the log
};

/// Replays a trace and compares it with the case, if one is named. Throws what Replay throws, and IoError if a file
/// cannot be written. If the replay fails, its log ends with the reason, and no file of parameters is left.
CaseDeviation replay_case(const sim::GradientTrace& trace, const ReplayPlan& plan, const std::string& name,
                          const ReplayOutput& output = {});

}  // namespace onebit::experiments
