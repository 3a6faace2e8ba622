#pragma once
// Link parameters from measured all-reduces.

#include <vector>

#include "netmodel/cluster/cluster.hpp"
#include "netmodel/measured/measurements.hpp"
#include "netmodel/plan/plan.hpp"

namespace onebit::netmodel {

/// The fit for one choice of the all-reduce algorithm: a fixed algorithm or a rule.
struct Fit {
  Cluster cluster;                ///< cluster with the fitted links and this choice of the algorithm
  bool fits_gpu_latency = false;  ///< whether the GPU link's latency was fitted; if not, the sizes do not determine it
  bool fits_nic_latency = false;  ///< whether the latency of `nic` was fitted; if not, the sizes do not determine it
  bool fits_penalty = false;      ///< whether the scale penalty was fitted; if not, there are too few node counts
  std::vector<double> residuals;  ///< predicted / measured - 1 for each row
  /// Residual of each row in a fit without the rows of the same numbers of nodes and GPUs; NaN if the remaining rows
  /// do not determine the same links.
  std::vector<double> left_out;
  double worst = 0, worst_left_out = 0;  ///< largest magnitudes in `residuals` and `left_out`; the second is NaN if
                                         ///< nothing was left out
};

/// Fits a cluster to all rows by least squares of relative errors: the effective rates of GPU and network links, the
/// latency of each link if the sizes measured on it span at least a factor of 16, and the scale penalty if there are at
/// least four node counts above one. The latencies and rates of NCCL's other protocols follow those of Simple as
/// call_costs() describes. `start` gives the first guess and everything that is not fitted. Rows of one node determine
/// the GPU link, the others the network link; a link without rows keeps its values from `start`. Throws ConfigError for
/// fewer than two rows, for rows of one GPU, and for collectives other than all-reduce.
Fit fit_selection(const std::vector<Measurement>& rows, const Cluster& start, Selection selection);

/// Fits ring, hierarchical, tree, halving, leader, NCCL's choice and the choice of `start`, and sorts the fits by their
/// largest error, including errors on left-out rows. The fit with the algorithm that `start` chooses nevertheless comes
/// first, unless rows could be left out and another fit's error is smaller both by more than kNoise and by more than a
/// third.
std::vector<Fit> calibrate(const std::vector<Measurement>& rows, const Cluster& start);

/// Relative difference between two runs of one configuration (Table 1 of the paper on 1-bit Adam).
inline constexpr double kNoise = 0.07;

}  // namespace onebit::netmodel
