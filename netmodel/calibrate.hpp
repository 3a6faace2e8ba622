#pragma once
// Link parameters from measured all-reduces.

#include <vector>

#include "netmodel/cluster.hpp"
#include "netmodel/measurements.hpp"
#include "netmodel/plan.hpp"

namespace onebit::netmodel {

/// One algorithm's fit.
struct Fit {
  Algorithm algorithm = Algorithm::ring;
  Cluster cluster;                ///< with the fitted links, and this algorithm
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
Fit fit_algorithm(const std::vector<Measurement>& rows, const Cluster& start, Algorithm algorithm);

/// Every all-reduce algorithm, the one with the smallest worst error first, left-out rows included; where none could be
/// left out, that of `start` first.
std::vector<Fit> calibrate(const std::vector<Measurement>& rows, const Cluster& start);

}  // namespace onebit::netmodel
