#pragma once
// analyze --validate: for every seed a dense run, and from it continuations at each candidate for the freeze: frozen
// without compression, and frozen and compressed.

#include <string>
#include <vector>

#include "analysis/freeze/freeze_validation.hpp"
#include "experiments/study/study.hpp"

namespace onebit::experiments {

/// Where to freeze, and how a freeze is judged.
struct ValidationRequest {
  std::vector<double> thresholds;  ///< thresholds of `freeze auto`, ascending; or
  std::vector<Index> steps;        ///< numbers of dense updates, ascending
  analysis::FreezeMeasure measure = analysis::FreezeMeasure::loss;
  double margin = analysis::default_margin;
  std::string reference;  ///< known, best or a number; empty: known
  double target = 0;      ///< measure steps: the loss to reach
};

struct ValidationResult {
  analysis::FreezeValidation validation;  ///< of the seeds whose runs all ended
  std::string reference;                  ///< measure loss: the loss from which excess is counted, in words
  bool complete = true;                   ///< false: a signal asked to stop
  std::string problem;                    ///< why a seed, and those after it, could not be run; empty: all could
};

/// Runs dense-SEED.h5, frozen-STEP-SEED.h5, compressed-STEP-SEED.h5 and ARM-STEP-SEED.h5 for every other arm, in the
/// study's folder.
/// Every continuation is bit-identical to a whole run with its `--freeze fixed:STEP`, as far as its options agree with
/// the dense run's; the dense steps before it are computed once more. Where runs are resumed, complete logs are kept.
/// Throws ConfigError, before anything is trained, for an optimizer without an uncompressed twin, a rule that could
/// never freeze, options that it varies itself, too few seeds, and existing output.
ValidationResult run_validation(const Study& study, const ValidationRequest& request);

}  // namespace onebit::experiments
