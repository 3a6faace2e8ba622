#pragma once
// Checks of a verdict on final losses against the evaluations towards the end of the runs.

#include "analysis/compare/verdict.hpp"

namespace onebit::analysis {

/// Smallest number of evaluations that each run must have in the last fifth of its steps for their mean loss to be
/// compared in addition to the final loss.
inline constexpr Index least_late_evaluations = 3;

/// Warns if the arm with the higher loss was still improving when the runs ended, with each of its runs improving
/// clearly faster than any run of the other arm. Also warns, and sets Verdict::hinges_on_last, if two conditions hold:
/// the means over the last fifth of the steps do not confirm the verdict on the final losses (that they differ, are
/// equivalent or cannot be told apart), and in that fifth the loss of a run rises by more than the margin from one
/// evaluation to the next. Sets Verdict::rests_on_last if a run has too few evaluations in that fifth for this check,
/// unless the verdict is `not_resolved`. Precondition: neither arm ended above its starting loss, and no run diverged.
void add_late_warnings(const Arm& baseline, const Arm& arm, Verdict& verdict);

}  // namespace onebit::analysis
