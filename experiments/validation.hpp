#pragma once
// analyze --validate: a dense run a seed, and a compressed continuation from it for every threshold of the rule that
// freezes the variance.

#include <string>
#include <vector>

#include "analysis/freeze_validation.hpp"
#include "experiments/command_line.hpp"

namespace onebit::experiments {

struct ValidationResult {
  analysis::FreezeValidation validation;  ///< of the seeds that came to their end
  bool complete = true;                   ///< false: a signal asked to stop
  std::string problem;                    ///< why a seed, and what was behind it, could not be run; empty: none
};

/// Runs dense-SEED.h5 and frozen-STEP-SEED.h5 in line.out. Every continuation has the bits of a whole run with its
/// `--freeze fixed:STEP`; the dense steps before it are computed once more. Throws ConfigError, before anything is
/// trained, for an optimizer that freezes nothing, a rule that could never freeze, options that it varies itself, fewer
/// than two seeds and output in the way.
ValidationResult run_validation(const CommandLine& line, const std::vector<double>& thresholds);

}  // namespace onebit::experiments
