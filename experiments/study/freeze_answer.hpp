#pragma once
// `onebit freeze`: after how many dense steps the variance may be frozen, what the freeze costs and what it saves.

#include <string>
#include <vector>

#include "analysis/freeze/freeze_validation.hpp"
#include "experiments/study/prices.hpp"
#include "experiments/study/validation.hpp"

namespace onebit::experiments {

/// A freeze that the first seed tried.
struct TriedFreeze {
  Index step = 0;
  double together = 0;  ///< cost of the compressed run relative to the dense one; infinite: it diverged
};

/// Time that freezing saves on a cluster: means over the judging seeds.
struct SavedTime {
  std::string cluster;
  double dense_seconds = 0, seconds = 0;  ///< estimated times of a run, dense and frozen
};

struct FreezeAnswer {
  Index steps = 0;                 ///< steps of the run
  std::uint32_t choosing = 0;      ///< the seed that chose
  std::vector<TriedFreeze> tried;  ///< freezes that it tried, in order
  Index freeze_step = 0;           ///< the chosen step; 0: none was found
  std::string option;              ///< option that freezes at this step
  bool floor_is_left = false;      ///< the optimizer takes a floor of the variance, but was given none
  /// Verdict of the judging seeds that were run, at freeze_step. Where that is 0: of the choosing seed at the latest
  /// step tried, with one more arm, kFloorArm, if floor_is_left.
  analysis::FreezeValidation judged;
  std::string reference;  ///< measure loss: the loss from which excess is counted, in words
  Index looks = 1;        ///< largest number of looks at the verdict; the intervals of all looks hold jointly
  Index runs = 0, verdict_runs = 0;  ///< number of all runs, and of those that judge
  double ratio_fp16 = 0;             ///< bytes of dense fp16 all-reduces over those sent
  std::vector<SavedTime> times;
  double wall_seconds = 0;
  bool complete = true;  ///< false: a signal asked to stop, and there is no answer
};

/// Name of the arm that tries a floor of the variance where no freeze was found.
inline constexpr const char* kFloorArm = "floor";

/// Answers the question of `onebit freeze`. The first seed tries freezes: the one that `freeze auto` gives, then
/// earlier ones while the compressed run costs at most half of the margin, later ones otherwise; the tries are limited
/// to about half of the runs of a whole verdict. The other seeds, each with a dense, a frozen and a compressed run,
/// judge the earliest freeze that passed, until the verdict is that it costs too much, or both verdicts are safe and
/// two thirds of all runs judge. Their intervals hold jointly over all looks (Bonferroni). Runs are those of SeedRuns.
/// Throws ConfigError, before anything is trained, for what `analyze --validate` refuses.
FreezeAnswer answer_freeze(const Study& study, const ValidationRequest& request, const Prices& prices);

}  // namespace onebit::experiments
