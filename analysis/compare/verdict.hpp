#pragma once
// Whether one arm ends lower than another, in a word and in a sentence with its evidence.

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/arms.hpp"
#include "analysis/compare/paired.hpp"

namespace onebit::analysis {

/// Relative difference of final losses below which two arms are as good as each other, where nothing else is said.
inline constexpr double default_margin = 0.01;

/// What verdicts that are given together are judged by.
struct Criterion {
  double margin = default_margin;  ///< differences within +- this are equivalent; above 0
  double level = 0.95;             ///< of all intervals of the family together
  Index comparisons = 1;           ///< verdicts in the family

  /// Of one interval, by Bonferroni: 1 - (1 - level) / comparisons. So the probability that any of the intervals misses
  /// its true difference is at most 1 - level.
  double level_of_each() const { return 1 - (1 - level) / static_cast<double>(comparisons > 1 ? comparisons : 1); }
};

/// The power that the number of seeds of an unresolved verdict is meant for.
inline constexpr double verdict_power = 0.8;

/// Of an arm against the baseline, by final loss: lower is better.
enum class Judgement {
  not_resolved,             ///< the interval holds 0 and reaches beyond the margin: the seeds do not tell
  equivalent,               ///< it holds 0 and lies within the margin
  better,                   ///< it lies below 0
  worse,                    ///< it lies above 0
  too_few_seeds,            ///< fewer than two pairs
  not_comparable_diverged,  ///< a run of either diverged: the seeds that did not would speak for those that did
  undefined,                ///< the baseline has a final loss of 0: there is no relative difference
};

/// "not_resolved", "equivalent", ...
std::string_view name(Judgement judgement);

/// By the interval alone, which is one of the criterion's level_of_each.
Judgement judge(const Difference& difference, double margin = default_margin);

/// Whether the interval lies wholly within +- margin. That is two one-sided tests (TOST), each at half of what the
/// interval's level leaves; it may be so of a difference that is not 0.
bool within_margin(const Difference& difference, double margin);

/// The learning rate of an arm and those of its grid, itself included, rising.
struct Rates {
  double rate = std::numeric_limits<double>::quiet_NaN();  ///< NaN: the log does not say
  std::vector<double> tried;
};

struct Verdict {
  std::string baseline, arm;
  Judgement judgement = Judgement::too_few_seeds;
  Criterion criterion;
  std::vector<std::uint32_t> seeds;  ///< that finished in both, rising
  Difference difference;             ///< of final losses, over these seeds; its interval is one of level_of_each
  bool equivalent = false;           ///< within_margin, and nothing forbids to judge
  double visible = 0;  ///< not resolved: the margin, or half of it where the seeds suffice to see the margin; else 0
  Index seeds_needed = 0;  ///< not resolved: pairs to see a difference of `visible` with verdict_power; else 0
  Rates baseline_rates, arm_rates;
  std::string sentence;  ///< "b against a is not resolved (about 34 seeds would be needed): final loss ...; ..."
  std::vector<std::string> warnings;  ///< runs that are left out, arms of other lengths, seeds of one arm only
};

Verdict judge(const Arm& baseline, const Arm& arm, const Rates& baseline_rates, const Rates& arm_rates,
              const Criterion& criterion = {});

/// How many comparisons there are and what they are judged by: "3 comparisons, each by its 98.3% interval (...)".
std::string text_of(const Criterion& criterion);

/// "seed 3 diverged: ... (out/adam-3.h5)", for every run that did not finish.
std::vector<std::string> unfinished_lines(const Arm& arm);

}  // namespace onebit::analysis
