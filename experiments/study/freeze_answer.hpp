#pragma once
// `onebit freeze`: after how many dense steps the variance may be frozen, what the freeze costs and what it saves.

#include <string>
#include <vector>

#include "analysis/freeze/freeze_validation.hpp"
#include "experiments/study/prices.hpp"
#include "experiments/study/validation.hpp"

namespace onebit::experiments {

/// A freeze step that the first seed tried.
struct TriedFreeze {
  Index step = 0;
  double together = 0;  ///< cost of the compressed run relative to the dense one; infinite if it diverged
};

/// Time that freezing saves on a cluster: means over the judging seeds.
struct SavedTime {
  std::string cluster;
  double dense_seconds = 0, seconds = 0;  ///< estimated times of a run, dense and frozen
};

struct FreezeAnswer {
  Index steps = 0;                 ///< steps of the run
  std::uint32_t choosing = 0;      ///< seed that chose the freeze step
  std::vector<TriedFreeze> tried;  ///< freeze steps that this seed tried, in order
  Index freeze_step = 0;           ///< chosen step; 0: none was found
  std::string option;              ///< option that freezes at this step
  bool floor_is_left = false;      ///< the optimizer has an option for a variance floor, but it was not set
  /// Verdict at freeze_step from the judging seeds that were run. If freeze_step is 0, it is the choosing seed's
  /// verdict at the latest step that this seed tried, with the additional arm kFloorArm if floor_is_left.
  analysis::FreezeValidation judged;
  std::string reference;  ///< describes the loss from which excess is counted (measure loss)
  Index looks = 1;        ///< largest number of looks at the verdict; the intervals of all looks hold jointly
  Index runs = 0, verdict_runs = 0;  ///< numbers of all runs and of the judging seeds' runs
  double ratio_fp16 = 0;             ///< bytes of dense fp16 all-reduces divided by the bytes sent
  std::vector<SavedTime> times;
  double wall_seconds = 0;
  bool complete = true;  ///< false: a signal stopped the command, and there is no answer
};

/// Name of the arm that tries a floor on the variance if no freeze step was found.
inline constexpr const char* kFloorArm = "floor";

/// Answers the question of `onebit freeze`. The first seed tries freeze steps: the one that `freeze auto` gives, then
/// earlier steps while the compressed run costs at most half of the margin, and later steps if it costs more. That seed
/// gets about half as many runs as are needed for a complete verdict. The earliest step that passed is then judged on
/// the other seeds, each with a dense, a frozen and a compressed run, and one run for each further arm. The experiment
/// ends once the verdict on freeze and compression together is "too costly", or once both this verdict and the verdict
/// on the freeze alone are "safe" and two thirds of all runs belong to the judging seeds. The intervals of the verdicts
/// hold jointly over all looks (Bonferroni). SeedRuns describes the runs. Throws ConfigError, before anything is
/// trained, for everything that `analyze --validate` refuses.
FreezeAnswer answer_freeze(const Study& study, const ValidationRequest& request, const Prices& prices);

}  // namespace onebit::experiments
