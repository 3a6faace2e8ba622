#pragma once
// What `analyze --validate` and `freeze` share: the arms of a freeze, what may be asked of them, and what excess loss
// is counted from.

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/freeze/freeze_validation.hpp"
#include "experiments/study/arms.hpp"
#include "experiments/cli/command_line.hpp"
#include "experiments/study/seed_runs.hpp"
#include "sim/models/constants.hpp"

namespace onebit::experiments {

/// Throws ConfigError for too few seeds, no output folder, and a freeze of the user's own. command: as errors call it.
void check_frozen_options(const CommandLine& line, const std::string& command);

/// Throws ConfigError for a run whose freeze cannot be tried, before anything is trained: an optimizer without an
/// uncompressed twin, a rule that could never freeze, semantics of DeepSpeed. steps: where to freeze; empty: by the
/// rule. Warns of options without effect.
void check_frozen_run(const CommandLine& line, const std::vector<Index>& steps);

/// What a continuation is made of: `frozen`, which does not compress, `compressed`, and every --arm of the user's,
/// which may change options of the optimizer, the codec and the feedback. Throws ConfigError.
std::vector<Arm> arms_to_try(const CommandLine& line);

/// A seed's continuations in the order of the arms, the first of which is `frozen`.
analysis::FreezeTrial trial_of(const SeedRuns& runs, const std::vector<Arm>& arms, Index step);

/// What excess is counted from, with words for it: `known` (or empty: the model's minimum, else 0), `best` (the best
/// final loss of the runs), or a number.
std::pair<double, std::string> reference_of(const std::string& text, const std::optional<sim::Constants>& constants,
                                            std::span<const analysis::DenseTrial> dense,
                                            std::span<const analysis::FreezeTrial> trials);

}  // namespace onebit::experiments
