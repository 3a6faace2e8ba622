#pragma once
// Whether one arm ends lower than another, in a word and in a sentence with its evidence.

#include <limits>
#include <string>
#include <vector>

#include "analysis/arms.hpp"
#include "analysis/paired.hpp"

namespace onebit::analysis {

/// Of an arm against the baseline, by final loss: lower is better.
enum class Judgement {
  no_difference,            ///< the interval holds 0
  better,                   ///< it lies below 0
  worse,                    ///< it lies above 0
  too_few_seeds,            ///< fewer than two pairs
  not_comparable_diverged,  ///< a run of either diverged: the seeds that did not would speak for those that did
  undefined,                ///< the baseline has a final loss of 0: there is no relative difference
};

/// By the 95% interval of t alone; each verdict for itself, with no correction for how many there are.
Judgement judge(const Difference& difference);

/// The learning rate of an arm and those of its grid, itself included, rising.
struct Rates {
  double rate = std::numeric_limits<double>::quiet_NaN();  ///< NaN: the log does not say
  std::vector<double> tried;
};

struct Verdict {
  std::string baseline, arm;
  Judgement judgement = Judgement::too_few_seeds;
  Difference difference;             ///< of final losses, over seeds that finished in both
  std::vector<std::uint32_t> seeds;  ///< these seeds, rising
  Rates baseline_rates, arm_rates;
  std::string sentence;  ///< "no difference between b and a: final loss 0.1% higher (95% interval ...); ..."
  std::vector<std::string> warnings;  ///< runs that are left out, arms of other lengths, seeds of one arm only
};

Verdict judge(const Arm& baseline, const Arm& arm, const Rates& baseline_rates, const Rates& arm_rates);

/// "seed 3 diverged: ... (out/adam-3.h5)", for every run that did not finish.
std::vector<std::string> unfinished_lines(const Arm& arm);

}  // namespace onebit::analysis
