#pragma once
// What computing takes in runs that compute the same gradients: one time for all of them, so that noise ranks no arm.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/log/summary.hpp"

namespace onebit::analysis {

/// Runs whose steps compute the same gradients: of one model, data, batch, accumulation, number of workers and of
/// gradients that each takes of its batch. Machines, devices, seeds and optimizers may differ.
struct ComputingGroup {
  std::vector<std::string> arms;  ///< names, each once
  Index runs = 0;                 ///< that say how long they computed
  /// Of a worker's step: the median over the runs of Summary::compute_seconds; 0: none says.
  double seconds = 0;
};

class SharedComputing {
 public:
  struct NamedRun {
    std::string arm;
    const Summary* run;
  };
  explicit SharedComputing(std::span<const NamedRun> runs);

  /// The size of one of the runs, with the computing time of its group.
  RunSize size_of(const Summary& run) const;
  /// In the order of their first runs.
  const std::vector<ComputingGroup>& groups() const { return groups_; }

 private:
  std::map<std::string, std::size_t> places_;  ///< by Summary::gradients
  std::vector<ComputingGroup> groups_;
};

}  // namespace onebit::analysis
