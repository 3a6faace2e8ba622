#pragma once
// How a command treats a log that already exists.

#include "experiments/study/training.hpp"

namespace onebit::experiments {

struct ResumeDecision {
  sim::Existing existing = sim::Existing::refuse;
  bool done = false;                        ///< the log is complete: nothing is left to train
  Index eval_every = 0, eval_examples = 0;  ///< how the log that is continued was evaluated
};

/// Returns the configuration, with eval.every and eval.examples taken from the log if the configuration does not set
/// them. Evaluations then continue as they began, even if the run is made longer.
sim::RunConfig continued(sim::RunConfig config, const ResumeDecision& decision);

/// Makes the decision from --overwrite, --resume and --resume.allow. Throws ConfigError if options that are not allowed
/// to differ have values different from those in the log; the message names all of these options.
ResumeDecision resume_decision(const OutputPolicy& policy, const sim::RunConfig& config, const std::string& log);

/// Decides for a run that may consist of several processes: rank 0 reads the log and sends the decision to the
/// others. Collective.
ResumeDecision agreed_decision(const OutputPolicy& policy, const sim::RunConfig& config, const std::string& log);

}  // namespace onebit::experiments
