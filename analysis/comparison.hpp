#pragma once
// Arms against each other: figures over seeds, curves, what it took to reach a loss, verdicts.

#include <limits>
#include <string>
#include <vector>

#include "analysis/arm_figures.hpp"
#include "analysis/comparable.hpp"
#include "analysis/rate_grid.hpp"
#include "analysis/target.hpp"
#include "analysis/verdict.hpp"

namespace onebit::analysis {

struct ComparisonRequest {
  std::string baseline = {};                                 ///< name of an arm; empty: the first
  double target = std::numeric_limits<double>::quiet_NaN();  ///< loss to reach; NaN: see Comparison
  std::vector<netmodel::Cluster> clusters = {};              ///< to price on; names differ
  double compute_seconds = 0;                                ///< of a step of any arm; 0: communication alone
};

struct Comparison {
  std::string baseline;
  /// The one that was asked for; else the lowest loss that every finished run reached of the arms at the best learning
  /// rate of their grid (common_target). Another rate, as one that learns nothing, need not have reached it.
  double target = std::numeric_limits<double>::quiet_NaN();
  std::vector<ArmFigures> arms;   ///< in the order given
  std::vector<Verdict> verdicts;  ///< of every other arm against the baseline
  std::vector<RateGrid> grids;
  /// Of every other grid against the baseline's, at the best rate of each, where one of the two has several and both
  /// have one that did not diverge; with the warnings of the grids. The best rates are chosen by the seeds that judge
  /// them, which favours larger grids.
  std::vector<Verdict> best_rates;
};

/// Throws ConfigError where runs cannot be compared (require_comparable), no arm is of the baseline's name (with the
/// nearest), there is no arm, or a cluster cannot hold the workers.
Comparison compare(std::span<const Arm> arms, const ComparisonRequest& request,
                   const netmodel::CostModel& model = netmodel::LinkLoad());

}  // namespace onebit::analysis
