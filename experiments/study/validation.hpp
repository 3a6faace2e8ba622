#pragma once
// analyze --validate: trains a dense run for every seed. For each candidate step, it also trains runs that freeze at
// that step: one without compression, one with it, and one for each further arm.

#include <string>
#include <vector>

#include "analysis/freeze/freeze_validation.hpp"
#include "experiments/study/study.hpp"

namespace onebit::experiments {

/// Where to freeze, and how a freeze is judged.
struct ValidationRequest {
  std::vector<double> thresholds;  ///< thresholds of `freeze auto`, ascending; empty if steps are given
  std::vector<Index> steps;        ///< numbers of dense updates, ascending; empty if thresholds are given
  analysis::FreezeMeasure measure = analysis::FreezeMeasure::loss;
  double margin = analysis::default_margin;
  std::string reference;  ///< known, best or a number; empty: known
  double target = 0;      ///< loss to reach (measure steps)
};

struct ValidationResult {
  analysis::FreezeValidation validation;  ///< verdicts from the seeds whose runs all ended
  std::string reference;                  ///< describes the loss from which excess is counted (measure loss)
  bool complete = true;                   ///< false: a signal stopped the command
  std::string problem;                    ///< why the runs of a seed failed and no later seed was run; empty if all ran
};

/// Trains the runs of a validation. Their logs in the study's folder are dense-SEED.h5, frozen-STEP-SEED.h5,
/// compressed-STEP-SEED.h5 and, for every other arm, ARM-STEP-SEED.h5. Runs that freeze are continuations of the dense
/// run, whose steps before the freeze are computed again. A continuation is bit-identical to a whole run with `--freeze
/// fixed:STEP`, as far as its options agree with the dense run's. With 0/1 Adam, each run that freezes is a run from
/// the first step, not a continuation of the dense run. When runs are resumed, complete logs are kept. Throws
/// ConfigError, before anything is trained, for an optimizer without an uncompressed twin, a rule that could never
/// freeze, options that the validation sets itself, too few seeds, and existing output.
ValidationResult run_validation(const Study& study, const ValidationRequest& request);

}  // namespace onebit::experiments
