#pragma once
// What a command does with a log that is there already.

#include "experiments/cli/command_line.hpp"
#include "sim/run/train.hpp"

namespace onebit::experiments {

struct ResumeDecision {
  sim::Existing existing = sim::Existing::refuse;
  bool done = false;                        ///< the log is complete: there is nothing to train
  Index eval_every = 0, eval_examples = 0;  ///< of the log that goes on
};

/// The configuration with the log's evaluations where it leaves them open: they go on as they began, also where a run
/// is made longer.
sim::RunConfig continued(sim::RunConfig config, const ResumeDecision& decision);

/// From --overwrite, --resume and --resume.allow. Throws ConfigError where options differ from the log's that are not
/// allowed to, naming all of them.
ResumeDecision resume_decision(const CommandLine& line, const sim::RunConfig& config, const std::string& log);

/// The same for a run that may be one of several processes: the one that leads looks, all are told. Collective.
ResumeDecision agreed_decision(const CommandLine& line, const sim::RunConfig& config, const std::string& log);

}  // namespace onebit::experiments
