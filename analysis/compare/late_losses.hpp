#pragma once
// What the evaluations towards the end of the runs say about a verdict on final losses.

#include "analysis/compare/verdict.hpp"

namespace onebit::analysis {

/// Number of evaluations in the last fifth of the steps from which on their mean is compared, too.
inline constexpr Index least_late_evaluations = 3;

/// Warns if the arm with the higher loss was still improving when the runs ended, each of its runs clearly faster than
/// any run of the other arm. Also warns, and sets Verdict::hinges_on_last, if the means over the last fifth of the
/// steps do not bear out that the final losses differ or are equivalent, or differ although these do not, and if the
/// loss of a run rises there between two evaluations by more than the margin. Sets Verdict::rests_on_last if a run has
/// too few evaluations there to check a verdict so. Precondition: neither arm ended above its starting loss, and no run
/// diverged.
void add_late_warnings(const Arm& baseline, const Arm& arm, Verdict& verdict);

}  // namespace onebit::analysis
