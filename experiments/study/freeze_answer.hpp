#pragma once
// `onebit freeze`: after how many dense steps the variance may be frozen, what that costs and what it saves.

#include <string>
#include <vector>

#include "analysis/freeze/freeze_validation.hpp"
#include "experiments/study/arm_runs.hpp"
#include "experiments/cli/command_line.hpp"
#include "experiments/study/validation.hpp"

namespace onebit::experiments {

/// A freeze that the first seed tried.
struct TriedFreeze {
  Index step = 0;
  double together = 0;  ///< cost of the compressed run against the dense one; infinite: it diverged
};

/// What freezing saves on a cluster, means over the judging seeds.
struct SavedTime {
  std::string cluster;
  double dense_seconds = 0, seconds = 0;  ///< of a run, estimated
};

struct FreezeAnswer {
  Index steps = 0;                 ///< of the run
  std::uint32_t choosing = 0;      ///< the seed that chose
  std::vector<TriedFreeze> tried;  ///< by it, in this order
  Index freeze_step = 0;           ///< 0: it found none
  std::string option;              ///< that freezes there
  bool floor_is_left = false;      ///< the optimizer takes a floor of the variance, and was given none
  /// Of the judging seeds that were run, at freeze_step; where it is 0, of the choosing seed at the latest step tried,
  /// with one more arm, kFloorArm, where the optimizer takes a floor and was given none.
  analysis::FreezeValidation judged;
  std::string reference;             ///< measure loss: what excess is counted from, in words
  Index looks = 1;                   ///< times that the verdict was looked for; all of them hold together
  Index runs = 0, verdict_runs = 0;  ///< all that were run, and those that judge
  double ratio_fp16 = 0;             ///< bytes of dense fp16 all-reduces over those sent
  std::vector<SavedTime> times;
  double wall_seconds = 0;
  bool complete = true;  ///< false: a signal asked to stop, and nothing is answered
};

/// Name of the arm that tries a floor of the variance where no freeze was found.
inline constexpr const char* kFloorArm = "floor";

/// The first seed tries freezes: the one that `freeze auto` gives, then earlier ones as long as the compressed run
/// costs at most half of the margin, or later ones, as many as half of the runs of a whole verdict allow. The other
/// seeds, each dense, frozen and compressed, judge the earliest that passed, until one lies beyond the margin, or both
/// verdicts are safe and two thirds of all runs judge. Their intervals hold together over all times that they are
/// looked for (Bonferroni). Runs are those of SeedRuns. Throws ConfigError, before anything is trained, for what
/// `analyze --validate` refuses.
FreezeAnswer answer_freeze(const CommandLine& line, const ValidationRequest& request, const Prices& prices);

}  // namespace onebit::experiments
