#pragma once
// Measures the cost of a run's log: its rows and flushes, each timed separately.

#include "experiments/bench/bench.hpp"
#include "sim/log/writer.hpp"

namespace onebit::experiments {

/// Writes the rows that a run would write after a step, to an unlinked log in the folder for temporary files.
class LogProbe {
 public:
  /// Opens the log. steps: outcomes of the cluster's steps, the newest last. Both arguments must outlive the probe.
  /// Throws ConfigError, IoError.
  LogProbe(sim::VirtualCluster& cluster, const std::vector<sim::StepOutcome>& steps);

  /// Returns the parts of logging as candidates. Every round must run a step of the cluster before the candidates.
  std::vector<Candidate> candidates();

  /// Returns each part's cost, given the seconds of each part in each round, and the seconds of a step.
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
