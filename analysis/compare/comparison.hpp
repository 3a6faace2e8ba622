#pragma once
// Comparison of arms: figures over seeds, curves, the cost of reaching a loss, and verdicts.

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
  std::string baseline = {};       ///< name of the arm that all others are compared with; empty: see References
  double margin = default_margin;  ///< margin of the verdicts (Criterion); above 0
  double target = std::numeric_limits<double>::quiet_NaN();  ///< loss to reach; NaN: see Comparison
  std::vector<netmodel::Cluster> clusters = {};              ///< clusters to price on, with distinct names
  PriceRules rules = {};                                     ///< rules for converting steps to seconds on the clusters
};

struct Comparison {
  std::string baseline;  ///< arm with which those without a parent among the runs are compared
  /// The requested loss; by default the lowest loss that every finished run reached. Only those arms count that are at
  /// the best learning rate of their grid and did not end above their starting loss (common_target). Arms at other
  /// rates, which may learn nothing, need not have reached it.
  double target = std::numeric_limits<double>::quiet_NaN();
  bool target_is_given = false;     ///< whether the target was requested
  bool target_skips_risen = false;  ///< whether the default target leaves out an arm that ended above its start
  Index evaluations = 0;            ///< fewest evaluations of a finished run
  std::vector<ArmFigures> arms;     ///< figures of the arms, in the given order
  /// The compute times used; empty if the rules give a workload or the times of both passes.
  std::vector<ComputingGroup> computing;
  std::vector<RateGrid> grids;
  /// Verdicts on every grid at its best rate, against its reference (references_of). The best rates are judged on the
  /// same seeds on which they were chosen, which favours larger grids; the grids' warnings mention this.
  std::vector<Verdict> verdicts;
  /// Verdicts on all other arms: those at a rate that is not the best of their grid, and those that are in the same
  /// grid as their reference.
  std::vector<Verdict> other_rates;
  std::vector<netmodel::Cluster> clusters;  ///< the clusters of ArmFigures::seconds
  double gradient_bytes = 0;                ///< bytes per element at which dense gradients are priced
  std::vector<std::string> notes;           ///< meanings of labels, notes of References
};

/// Verdicts of one family, whose level is corrected for the number of verdicts.
struct VerdictSection {
  std::string heading;  ///< empty if there is only one section
  std::string rule;     ///< result of text_of for the family's criterion
  std::span<const Verdict> verdicts;
};

/// Returns the verdicts of a comparison in sections; no section if there are no verdicts. The comparison must outlive
/// the sections.
std::vector<VerdictSection> sections_of(const Comparison& comparison);

/// Compares arms. Throws ConfigError if runs cannot be compared (require_comparable), if no arm or rate grid has the
/// baseline's name (the error suggests the nearest name), if there is no arm, or if a cluster cannot hold the workers.
Comparison compare(std::span<const Arm> arms, const ComparisonRequest& request,
                   const netmodel::CostModel& model = netmodel::LinkLoad());

}  // namespace onebit::analysis
