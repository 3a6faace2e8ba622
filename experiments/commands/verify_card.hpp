#pragma once
// The part of `verify` that repeats the runs of a card.

#include "experiments/cli/study_input.hpp"

namespace onebit::experiments {

/// Repeats the runs of the card named by the command's only argument. Prints how well they agree with the card and
/// whether the verdicts are the same, and returns the exit status.
int verify_card(const StudyInput& options);

}  // namespace onebit::experiments
