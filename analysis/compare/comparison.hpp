#pragma once
// Arms against each other: figures over seeds, curves, what it took to reach a loss, verdicts.

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/arm_figures.hpp"
#include "analysis/compare/comparable.hpp"
#include "analysis/compare/references.hpp"
#include "analysis/compare/target.hpp"
#include "analysis/compare/verdict.hpp"

namespace onebit::analysis {

struct ComparisonRequest {
  std::string baseline = {};       ///< name of an arm that all others are compared with; empty: see References
  double margin = default_margin;  ///< see Criterion; above 0
  double target = std::numeric_limits<double>::quiet_NaN();  ///< loss to reach; NaN: see Comparison
  std::vector<netmodel::Cluster> clusters = {};              ///< to price on; names differ
  PriceRules rules = {};                                     ///< how steps become seconds there
};

struct Comparison {
  std::string baseline;  ///< what arms without a parent among the runs are compared with
  /// The one that was asked for; else the lowest loss that every finished run reached of the arms at the best learning
  /// rate of their grid (common_target). Another rate, as one that learns nothing, need not have reached it.
  double target = std::numeric_limits<double>::quiet_NaN();
  std::vector<ArmFigures> arms;  ///< in the order given
  /// Where the rules give no workload and not both passes: what stands for them.
  std::vector<ComputingGroup> computing;
  std::vector<RateGrid> grids;
  /// Of every grid at its best rate, against what it is compared with (references_of). The best rates are chosen by the
  /// seeds that judge them, which favours larger grids: with the warnings of the grids.
  std::vector<Verdict> verdicts;
  /// Of all other arms: at other rates than the best of their grid, or of the baseline's own grid.
  std::vector<Verdict> other_rates;
  std::vector<std::string> notes;  ///< of References
};

/// Verdicts of one family, whose level is corrected for their number.
struct VerdictSection {
  std::string heading;  ///< empty where there is one section
  std::string rule;     ///< text_of the family's criterion
  std::span<const Verdict> verdicts;
};

/// What is to be shown of a comparison's verdicts, which outlives it; none without verdicts.
std::vector<VerdictSection> sections_of(const Comparison& comparison);

/// Throws ConfigError where runs cannot be compared (require_comparable), no arm is of the baseline's name (with the
/// nearest), there is no arm, or a cluster cannot hold the workers.
Comparison compare(std::span<const Arm> arms, const ComparisonRequest& request,
                   const netmodel::CostModel& model = netmodel::LinkLoad());

}  // namespace onebit::analysis
