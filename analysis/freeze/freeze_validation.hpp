#pragma once
// What freezing the variance costs, and what compressing costs on top: continuations from dense runs, over paired
// seeds.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/verdict.hpp"

namespace onebit::analysis {

/// What a cost is counted in.
enum class FreezeMeasure {
  loss,      ///< final evaluated loss above the reference, as a share of what the dense runs end above it
  accuracy,  ///< difference of final evaluated accuracies; 0.01 is a point
  steps      ///< steps to a target loss, as a share of the dense run's
};

struct FreezeCriterion {
  FreezeMeasure measure = FreezeMeasure::loss;
  double margin = default_margin;  ///< the largest cost that is small; above 0
  double reference = 0;            ///< loss: what excess is counted from
  Index choosing = 1;              ///< so many seeds, the first ones, choose a candidate; the others judge it
  double level = 0.95;             ///< of all verdicts that are given together
};

/// How a run ended.
struct FreezeOutcome {
  double loss = std::numeric_limits<double>::quiet_NaN();      ///< NaN: it diverged
  double accuracy = std::numeric_limits<double>::quiet_NaN();  ///< NaN: the model has none
  double steps = std::numeric_limits<double>::quiet_NaN();     ///< to the target; NaN: not reached
  double ratio_fp16 = 0;                                       ///< bytes of dense fp16 all-reduces over those sent
};

/// The dense run of a seed, which is not frozen.
struct DenseTrial {
  std::uint32_t seed = 0;
  FreezeOutcome outcome;
};

/// The continuations of a seed's dense run from the step that a candidate chose.
struct FreezeTrial {
  std::size_t candidate = 0;
  std::uint32_t seed = 0;
  Index freeze_step = 0;  ///< 0: the candidate was not reached before the last step, and nothing was run
  FreezeOutcome frozen;   ///< frozen, not compressed
  std::vector<FreezeOutcome> compressed;  ///< [arms]: frozen and compressed
};

enum class FreezeVerdict {
  safe,            ///< every seed lies inside the margin, and so does the interval
  safe_but_worse,  ///< the same, and the interval lies above 0
  costs,           ///< a seed diverged or lies beyond the margin: more seeds cannot make it safe
  unclear          ///< every seed lies inside the margin, the interval does not: more seeds would decide
};

/// Cost of an arm against another, positive: worse.
struct FreezeCost {
  std::vector<double> by_seed;  ///< infinite: it diverged; NaN: there is no such run
  Interval interval;            ///< of the mean; NaN where a value is not finite
  double p = 0;                 ///< sign_flip_p, for this one comparison
  FreezeVerdict verdict = FreezeVerdict::unclear;
  Index more_seeds = 0;  ///< unclear: about so many more would decide; 0: seeds are not what is missing
  std::string reason;    ///< costs, unclear: why
};

struct CompressedCost {
  FreezeCost compression;  ///< against the frozen run
  FreezeCost together;     ///< against the dense run
  double ratio_fp16 = 0;   ///< mean over the seeds that were run
};

/// A candidate over all seeds.
struct FreezeRow {
  std::string candidate;
  Index reached = 0;  ///< seeds that reached it
  Interval freeze_step;
  FreezeCost freeze;                 ///< frozen against dense
  std::vector<CompressedCost> arms;  ///< [arms]
};

/// The earliest candidate that the choosing seeds found safe with the first arm, no later one being otherwise.
struct FreezeChoice {
  std::size_t row = 0;
  FreezeCost freeze, together;  ///< judged by the other seeds, two verdicts together
};

struct FreezeValidation {
  FreezeCriterion criterion;
  std::vector<std::string> arms;                 ///< names of the compressed arms
  std::vector<std::uint32_t> seeds;              ///< the rows are judged by all of them
  std::vector<std::uint32_t> choosing, judging;  ///< those of the choice
  Index comparisons = 0;                         ///< verdicts of the rows, which hold together
  Interval dense_loss;                           ///< over all seeds
  double dense_ratio_fp16 = 0;
  std::vector<DenseTrial> dense;
  std::vector<FreezeTrial> trials;  ///< as they were given
  std::vector<FreezeRow> rows;      ///< [candidates]
  std::optional<FreezeChoice> choice;
};

/// Candidates are named from the earliest on, arms as in the trials. Trials of a seed without a dense run are left out.
/// Intervals of the rows are by Bonferroni over all of their verdicts, 1 + arms for each row. Throws ConfigError where
/// the measure says nothing of the dense runs: at or below the reference, without an accuracy, short of the target.
FreezeValidation validate_freeze(const std::vector<std::string>& candidates, const std::vector<std::string>& arms,
                                 std::span<const DenseTrial> dense, std::span<const FreezeTrial> trials,
                                 const FreezeCriterion& criterion);

/// "safe", "safe, measurably worse", "costs", "unclear".
std::string_view name(FreezeVerdict verdict);

}  // namespace onebit::analysis
