#pragma once
// One compute time for all runs that compute the same gradients, so that timing noise does not affect the ranking of
// the arms.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/log/summary.hpp"

namespace onebit::analysis {

/// Runs whose steps compute the same gradients: same model, data, batch, accumulation, number of workers and number of
/// gradients that each worker computes from its batch. Machines, devices, seeds and optimizers may differ.
struct ComputingGroup {
  std::vector<std::string> arms;  ///< names of the arms, each once
  Index runs = 0;                 ///< number of runs whose logs record a compute time
  /// Median over the runs of Summary::compute_seconds, for one worker's step. If there are two middle values, the lower
  /// one is used, because other work on the machine only adds to a time. 0 if no run records a time.
  double seconds = 0;
  double least = 0, most = 0;  ///< the smallest and the largest time of a run
};

class SharedComputing {
 public:
  struct NamedRun {
    std::string arm;
    const Summary* run;
  };
  explicit SharedComputing(std::span<const NamedRun> runs);

  /// Returns the RunSize of one of the runs, with the compute time that its group shares.
  RunSize size_of(const Summary& run) const;
  /// Returns the groups in the order of their first runs.
  const std::vector<ComputingGroup>& groups() const { return groups_; }

 private:
  std::map<std::string, std::size_t> places_;  ///< index in groups_, by Summary::gradients
  std::vector<ComputingGroup> groups_;
};

}  // namespace onebit::analysis
