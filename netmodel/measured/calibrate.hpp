#pragma once
// Link parameters from measured all-reduces.

#include <vector>

#include "netmodel/cluster/cluster.hpp"
#include "netmodel/measured/measurements.hpp"
#include "netmodel/plan/plan.hpp"

namespace onebit::netmodel {

/// The fit of a way to choose the algorithm: always one of them, or a rule.
struct Fit {
  Cluster cluster;                ///< with the fitted links, and this choice of the all-reduce
  bool fits_latency = false;      ///< else it is the start's: sizes do not tell
  bool fits_penalty = false;      ///< else it is the start's: too few numbers of nodes
  std::vector<double> residuals;  ///< predicted / measured - 1, by row
  /// The same of a fit without the rows of as many nodes and GPUs; NaN where that cannot be made.
  std::vector<double> left_out;
  double worst = 0, worst_left_out = 0;  ///< largest magnitudes; the second is NaN where nothing was left out
};

/// Fits effective rates of GPU and network links, the network's latency where the sizes span a factor of 16, and the
/// scale penalty where there are four numbers of nodes above one, to all rows by least squares of relative errors.
/// `start` gives everything else and the first guess. Rows of one node determine the GPU link, others the network's;
/// where there are none, that of `start` stays. Throws ConfigError for fewer than two rows and for other
/// collectives.
Fit fit_selection(const std::vector<Measurement>& rows, const Cluster& start, Selection selection);

/// A fit of every all-reduce algorithm and of the choice of `start`, the one with the smallest worst error first,
/// left-out rows included. But the choice of `start` comes first where none could be left out, and unless another one's
/// error is smaller by more than kNoise and by a third: what fits about as well is no reason to write something else.
std::vector<Fit> calibrate(const std::vector<Measurement>& rows, const Cluster& start);

/// By so much, relative to each other, two runs of one configuration differ (Table 1 of 1-bit Adam).
inline constexpr double kNoise = 0.07;

}  // namespace onebit::netmodel
