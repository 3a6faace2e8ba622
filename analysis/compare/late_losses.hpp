#pragma once
// What the evaluations towards the end of the runs say about a verdict on final losses.

#include "analysis/compare/verdict.hpp"

namespace onebit::analysis {

/// Evaluations in the last fifth of the steps that a run needs for Verdict::hinges_on_last.
inline constexpr Index least_late_evaluations = 3;

/// Returns the number of a run's evaluations in the last fifth of its steps.
Index late_evaluations(const Run& run);

/// Warns if the arm with the higher loss was still improving when the runs ended, each of its runs clearly faster than
/// any run of the other arm. Also warns, and sets Verdict::hinges_on_last, if the final losses differ (or are
/// equivalent) while the means over the last fifth of the steps (at least least_late_evaluations) do not, and if the
/// loss of a run rises there between two evaluations by more than the margin. Precondition: both arms trained, and no
/// run diverged.
void add_late_warnings(const Arm& baseline, const Arm& arm, Verdict& verdict);

}  // namespace onebit::analysis
