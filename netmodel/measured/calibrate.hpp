#pragma once
// Link parameters from measured all-reduces.

#include <vector>

#include "netmodel/cluster/cluster.hpp"
#include "netmodel/measured/measurements.hpp"
#include "netmodel/plan/plan.hpp"

namespace onebit::netmodel {

/// The fit for one way to choose the algorithm: a fixed one, or a rule.
struct Fit {
  Cluster cluster;                ///< with the fitted links, and this choice of the all-reduce
  bool fits_latency = false;      ///< else it is the start's: the sizes do not determine it
  bool fits_penalty = false;      ///< else it is the start's: too few different numbers of nodes
  std::vector<double> residuals;  ///< predicted / measured - 1, by row
  /// Residuals of a fit without the rows of the same numbers of nodes and GPUs; NaN if there can be no such fit.
  std::vector<double> left_out;
  double worst = 0, worst_left_out = 0;  ///< largest magnitudes; the second is NaN where nothing was left out
};

/// Fits effective rates of GPU and network links, the network's latency where the sizes span a factor of 16, and the
/// scale penalty where there are four numbers of nodes above one, to all rows by least squares of relative errors.
/// `start` gives everything else and the first guess. Rows of one node determine the GPU link, others the network's; if
/// there are none, that of `start` stays. Throws ConfigError for fewer than two rows, for rows of one GPU, and for
/// other collectives.
Fit fit_selection(const std::vector<Measurement>& rows, const Cluster& start, Selection selection);

/// Fits every all-reduce algorithm and the choice of `start`. The fit with the smallest worst error comes first,
/// left-out rows included, with one exception: the choice of `start` comes first if no rows could be left out, and
/// unless another error is smaller by more than kNoise and by a third. What fits about as well is no reason to write
/// something else.
std::vector<Fit> calibrate(const std::vector<Measurement>& rows, const Cluster& start);

/// Relative difference between two runs of one configuration (Table 1 of 1-bit Adam).
inline constexpr double kNoise = 0.07;

}  // namespace onebit::netmodel
