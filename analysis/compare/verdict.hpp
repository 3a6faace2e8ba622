#pragma once
// Whether one arm ends at a lower loss than another, as a verdict and as a sentence with its evidence.

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/arms.hpp"
#include "analysis/compare/paired.hpp"

namespace onebit::analysis {

/// Relative difference of final losses below which two arms count as equally good, by default.
inline constexpr double default_margin = 0.01;

/// Criterion for a family of verdicts that are reported together.
struct Criterion {
  double margin = default_margin;  ///< differences within ±margin are equivalent; above 0
  double level = 0.95;             ///< joint level of all intervals of the family
  Index comparisons = 1;           ///< number of verdicts in the family

  /// Returns the level of one interval, by Bonferroni: 1 - (1 - level) / comparisons. The probability that at least one
  /// interval misses its true difference is then at most 1 - level.
  double level_of_each() const { return 1 - (1 - level) / static_cast<double>(comparisons > 1 ? comparisons : 1); }
};

/// Largest number of seeds that is written out in texts; larger numbers appear as "more than 1000 seeds". If
/// seeds_needed is larger, need_text leaves out the number of seeds that would show equivalence.
inline constexpr Index useful_seeds = 1000;

/// Statistical power for which the number of seeds that would resolve a verdict is computed.
inline constexpr double verdict_power = 0.8;

/// Judgement of an arm against the baseline by their final losses; a lower loss is better.
enum class Judgement {
  not_resolved,             ///< the interval contains 0 and extends beyond the margin: the seeds do not settle it
  equivalent,               ///< the interval contains 0 and lies within the margin
  better,                   ///< the interval lies below 0
  worse,                    ///< the interval lies above 0
  too_few_seeds,            ///< fewer than two pairs
  not_comparable_diverged,  ///< a run of either arm diverged: the remaining seeds alone would be a biased sample
  /// One arm ended above its starting loss (StartAndEnd::rose) and the other did not, and the losses are not
  /// equivalent. Losses that blew up vary by orders of magnitude from seed to seed, so their ratio is meaningless.
  not_comparable_untrained,
  undefined,  ///< the baseline has a final loss of 0, so there is no relative difference
};

/// Returns "not_resolved", "equivalent", ...
std::string_view name(Judgement judgement);

/// Judges by the interval alone, which must have the criterion's level_of_each.
Judgement judge(const Difference& difference, double margin = default_margin);

/// Whether the whole interval lies within ±margin. This is a pair of one-sided tests (TOST), each with an error
/// probability of half of 1 - level. It may also hold for an interval that excludes 0.
bool within_margin(const Difference& difference, double margin);

/// Learning rate of an arm, and all rates of its grid in ascending order, including the arm's own rate.
struct Rates {
  double rate = std::numeric_limits<double>::quiet_NaN();  ///< learning rate; NaN: not in the log
  std::vector<double> tried;
};

struct Verdict {
  std::string baseline, arm;
  Judgement judgement = Judgement::too_few_seeds;
  Criterion criterion;
  std::vector<std::uint32_t> seeds;  ///< seeds that finished in both arms, ascending
  Difference difference;             ///< difference of final losses over these seeds; its interval has level_of_each
  /// Difference of accuracies over these seeds, as a share (0.01: one point), and difference of AUCs. Their intervals
  /// have level_of_each, but they are not counted among the comparisons. NaN if runs have no accuracy or no AUC.
  Interval accuracy = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN(), 0};
  Interval auc = accuracy;
  bool neither_trained = false;  ///< whether both arms ended above their starting losses
  bool equivalent = false;       ///< whether within_margin holds and the arms can be judged
  /// If the verdict is unresolved, the difference for which seeds_needed is computed: the margin, or half the margin if
  /// there are already enough seeds to detect the margin itself. Otherwise 0.
  double visible = 0;
  Index seeds_needed = 0;    ///< pairs needed to resolve `visible` with verdict_power, if unresolved; otherwise 0
  Index seeds_for_seen = 0;  ///< the same for the observed difference; 0 if it is not above `visible`
  /// Number of pairs needed for the whole interval to lie within the margin with probability verdict_power if the true
  /// difference is 0. Computed only if the verdict is unresolved and the mean lies within the margin; otherwise, or if
  /// there are already that many pairs, it is 0.
  Index seeds_for_equivalence = 0;
  Rates baseline_rates, arm_rates;
  std::string sentence;  ///< "b and a cannot be told apart (detecting 1% takes about 34 seeds): final loss 0.1% ..."
  /// Whether the mean losses over the last fifth of the steps lead to a different verdict; add_late_warnings gives the
  /// exact conditions.
  bool hinges_on_last = false;
  std::optional<Difference> late = {};  ///< if hinges_on_last, the difference of these means
  std::string late_warning;             ///< the warning about this, which is also one of `warnings`; otherwise empty
  /// Whether a verdict other than `not_resolved` cannot be checked against the last fifth of the steps, because a run
  /// has fewer than least_late_evaluations evaluations there.
  bool rests_on_last = false;
  /// Warnings about runs left out, arms of different lengths and seeds without a partner, and those of
  /// add_late_warnings.
  std::vector<std::string> warnings;
};

Verdict judge(const Arm& baseline, const Arm& arm, const Rates& baseline_rates, const Rates& arm_rates,
              const Criterion& criterion = {});

/// Returns the number of comparisons and their criterion: "3 comparisons, each judged by its 98.3% interval (...)".
std::string text_of(const Criterion& criterion);

/// Returns the same text for the criterion of a family, with explanations of the terms that its verdicts use.
std::string text_of(const std::vector<Verdict>& verdicts);

/// Returns "b ended at a loss of 4.2e+09, above its starting loss of 2.8 (means over 4 seeds, of
/// which 2 ended above)".
std::string untrained_text(const std::string& arm, const StartAndEnd& losses);

/// Returns "detecting 1% takes about 11 seeds, showing equivalence within 1% about 14 seeds if the losses agree". If
/// the observed difference is larger than the difference to be detected, the text also says how many seeds the observed
/// one needs: ", the observed difference about 18 seeds".
std::string need_text(const Verdict& verdict);

/// Returns "accuracy is 1.2 points lower (95% interval -2 to -0.4, not counted among the comparisons)"; empty unless
/// the interval excludes 0 and both arms trained.
std::string accuracy_text(const Verdict& verdict);

/// Returns "about 34 seeds", rounded to tens for 100 and more; "more than 1000 seeds" for numbers above useful_seeds.
std::string seeds_needed_text(Index seeds);

/// Whether range_text states an interval as ratios, because the ratio at the mean is above two, the ratio at the upper
/// end of the interval is above ten, or the ratio at the lower end is below a thousandth.
bool in_times(const Difference& difference);

/// Returns "final loss 2.1% lower"; beyond a factor of two, "final loss 2.5 times as high".
std::string shift_text(const Difference& difference);

/// Returns "final loss 8.7% lower (95% interval -18.9% to 1.5%", with the parenthesis left open for the caller; if
/// in_times(), "final loss 8.48 times as high (95% interval 6.78 to 10.6 times as high".
std::string estimate_text(const Difference& difference, const std::string& level);

/// Returns the interval of a difference: "-3.56% to 5.3%", "0.4 to 1641 times as high".
std::string range_text(const Difference& difference);

/// Returns the p of the sign-flip test as text, such as "p = 0.25, the least possible" if so few seeds cannot give a
/// smaller p.
std::string p_text(const Difference& difference);

/// Formats a level, such as 95%, 98.3% or 99.995%, with as many digits as its distance from 100% needs.
std::string level_text(double level);

/// Returns "seed 3 diverged: ... (out/adam-3.h5)" for every run that did not finish.
std::vector<std::string> unfinished_lines(const Arm& arm);

}  // namespace onebit::analysis
