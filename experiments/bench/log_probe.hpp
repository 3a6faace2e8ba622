#pragma once
// What the log of a run costs: its rows and flushes, each timed by itself.

#include "experiments/bench/bench.hpp"
#include "sim/log/writer.hpp"

namespace onebit::experiments {

/// Writes the rows that a run would write after a step to a log in the folder for temporary files, which has no name
/// there.
class LogProbe {
 public:
  /// steps: outcomes of the cluster's steps, the last one the newest. Both outlive the probe. Throws ConfigError,
  /// IoError.
  LogProbe(sim::VirtualCluster& cluster, const std::vector<sim::StepOutcome>& steps);

  /// The parts of logging, for a round that has made a step.
  std::vector<Candidate> candidates();

  /// Their shares in a step, given the seconds of each part in each round and of a step.
  static std::vector<LogPart> parts(const std::vector<std::vector<double>>& seconds, const sim::LogConfig& config,
                                    double step);

 private:
  LogProbe(sim::VirtualCluster& cluster, const std::vector<sim::StepOutcome>& steps, const std::string& path);

  const sim::StepOutcome& newest() const { return steps_.back(); }

  sim::VirtualCluster& cluster_;
  const std::vector<sim::StepOutcome>& steps_;
  sim::LogWriter log_;
};

}  // namespace onebit::experiments
