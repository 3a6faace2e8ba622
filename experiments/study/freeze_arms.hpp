#pragma once
// What `analyze --validate` and `freeze` share: the arms of a freeze, the checks of their options, and the loss from
// which excess is counted.

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/freeze/freeze_validation.hpp"
#include "experiments/study/arms.hpp"
#include "experiments/study/seed_runs.hpp"
#include "sim/models/constants.hpp"

namespace onebit::experiments {

/// Throws ConfigError for too few seeds, a missing output folder, and freeze options that the user has set. command:
/// the command's name, for error messages.
void check_frozen_options(const Study& study, const std::string& command);

/// Throws ConfigError, before anything is trained, for a run whose freeze cannot be tried, because the optimizer has no
/// uncompressed twin, the rule could never freeze, or the run has DeepSpeed's semantics. steps: where to freeze; if
/// empty, the rule decides. Warns about options without effect.
void check_frozen_run(const Study& study, const std::vector<Index>& steps);

/// Returns the arms of a continuation: `frozen`, which does not compress; `compressed`; and every --arm that the user
/// gave, which may change options of the optimizer, the codec and the feedback. Throws ConfigError.
std::vector<Arm> arms_to_try(const Study& study);

/// Returns the outcomes of a seed's continuations in the order of the arms, the first of which is `frozen`.
analysis::FreezeTrial trial_of(const SeedRuns& runs, const std::vector<Arm>& arms, Index step);

/// Returns the loss from which excess is counted, and its description. text: `known` (or empty) for the model's
/// minimum, or 0 if that is not known; `best` for the best final loss of the runs; otherwise a number.
std::pair<double, std::string> reference_of(const std::string& text, const std::optional<sim::Constants>& constants,
                                            std::span<const analysis::DenseTrial> dense,
                                            std::span<const analysis::FreezeTrial> trials);

}  // namespace onebit::experiments
