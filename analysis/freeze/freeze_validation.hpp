#pragma once
// The cost of freezing the variance and the additional cost of compression, measured over paired seeds with
// continuations of dense runs.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/verdict.hpp"

namespace onebit::analysis {

/// Unit in which a cost is measured.
enum class FreezeMeasure {
  loss,      ///< rise of the final evaluated loss, as a share of the dense runs' mean excess above the reference
  accuracy,  ///< drop of the final evaluated accuracy; 0.01 is one percentage point
  steps      ///< additional steps to a target loss, as a share of the dense run's
};

struct FreezeCriterion {
  FreezeMeasure measure = FreezeMeasure::loss;
  double margin = default_margin;  ///< the largest cost that still counts as small; above 0
  double reference = 0;            ///< for the measure loss: the loss above which the excess is counted
  Index choosing = 1;   ///< number of seeds, from the first on, for choosing a candidate; the others are for judging it
  double level = 0.95;  ///< joint confidence level of all verdicts
};

/// Result of one run.
struct FreezeOutcome {
  double loss = std::numeric_limits<double>::quiet_NaN();      ///< final evaluated loss; NaN: the run diverged
  double accuracy = std::numeric_limits<double>::quiet_NaN();  ///< final evaluated accuracy; NaN: the model has none
  double steps = std::numeric_limits<double>::quiet_NaN();     ///< steps to the target; NaN: not reached
  double ratio_fp16 = 0;                                       ///< bytes of dense fp16 all-reduces / bytes sent
};

/// Dense run of one seed; its variance is never frozen.
struct DenseTrial {
  std::uint32_t seed = 0;
  FreezeOutcome outcome;
};

/// Runs that continue one seed's dense run from the step at which a candidate freezes the variance.
struct FreezeTrial {
  std::size_t candidate = 0;
  std::uint32_t seed = 0;
  Index freeze_step = 0;  ///< step of the freeze; 0: not reached before the last step, so nothing was run
  FreezeOutcome frozen;   ///< result with a frozen variance, without compression
  std::vector<FreezeOutcome> compressed;  ///< results with a frozen variance and compression, [arms]
};

enum class FreezeVerdict {
  safe,            ///< the costs of all seeds and the interval lie within the margin
  safe_but_worse,  ///< safe, but the interval lies above 0
  costs,           ///< a seed's run diverged, or its cost is beyond the margin: more seeds cannot make it safe
  unclear  ///< no seed's cost is beyond the margin, but the interval extends beyond it (more seeds would settle the
           ///< verdict), or a seed's cost is unknown
};

/// Cost of one arm relative to another; positive means worse.
struct FreezeCost {
  /// Cost for each seed. Infinite: the run diverged or, if the measure is `steps`, did not reach the target. NaN: there
  /// is no such run, or the reference run diverged or did not reach the target.
  std::vector<double> by_seed;
  Interval interval;  ///< interval of the mean; NaN if a value is not finite
  double p = 0;       ///< sign_flip_p, for this one comparison
  FreezeVerdict verdict = FreezeVerdict::unclear;
  Index more_seeds = 0;  ///< for unclear: about how many more seeds would settle it; 0: more seeds would not help
  std::string reason;    ///< reason for the verdicts costs and unclear
};

struct CompressedCost {
  FreezeCost compression;  ///< cost relative to the frozen run
  FreezeCost together;     ///< cost relative to the dense run
  double ratio_fp16 = 0;   ///< mean FreezeOutcome::ratio_fp16 over the seeds that were run
};

/// Results of one candidate over all seeds.
struct FreezeRow {
  std::string candidate;
  Index reached = 0;  ///< number of seeds whose runs reached it
  Interval freeze_step;
  FreezeCost freeze;                 ///< cost of the frozen run relative to the dense one
  std::vector<CompressedCost> arms;  ///< costs of the compressed runs, [arms]
};

/// Earliest candidate such that, at it and at every later candidate reached by any selection seed, the total cost with
/// the first arm is within the margin for every selection seed.
struct FreezeChoice {
  std::size_t row = 0;
  FreezeCost freeze, together;  ///< costs over the judging seeds; the two verdicts hold jointly
};

struct FreezeValidation {
  FreezeCriterion criterion;
  std::vector<std::string> arms;                 ///< names of the compressed arms
  std::vector<std::uint32_t> seeds;              ///< all seeds, by which the rows are judged
  std::vector<std::uint32_t> choosing, judging;  ///< seeds for choosing, and seeds for judging the choice
  Index comparisons = 0;                         ///< number of verdicts in all rows, which hold jointly
  Interval dense_loss;                           ///< final loss of the dense runs over all seeds
  double dense_ratio_fp16 = 0;
  std::vector<DenseTrial> dense;
  std::vector<FreezeTrial> trials;  ///< the given trials
  std::vector<FreezeRow> rows;      ///< results of each candidate, [candidates]
  std::optional<FreezeChoice> choice;
};

/// Validates freezes. `candidates` are ordered from the earliest to the latest; `arms` have the same order as in the
/// trials. Trials of a seed without a dense run are left out. The intervals in the rows have a Bonferroni correction
/// for the number of verdicts in all rows; each row has 1 + (number of arms) verdicts. Throws ConfigError if the
/// measure is undefined for the dense runs: their loss is at or below the reference, they have no accuracy, or they do
/// not reach the target.
FreezeValidation validate_freeze(const std::vector<std::string>& candidates, const std::vector<std::string>& arms,
                                 std::span<const DenseTrial> dense, std::span<const FreezeTrial> trials,
                                 const FreezeCriterion& criterion);

/// Returns "safe", "safe, measurably worse", "too costly" or "unclear".
std::string_view name(FreezeVerdict verdict);

}  // namespace onebit::analysis
