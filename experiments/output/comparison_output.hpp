#pragma once
// A comparison of arms by their logs, as tables and as JSON.

#include <iosfwd>
#include <optional>

#include "analysis/compare/comparison.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Returns the index of the arm with the lowest mean final loss among the arms whose runs all finished; none if there
/// is no such arm, or only one arm in all.
std::optional<std::size_t> lowest_loss(const std::vector<analysis::ArmFigures>& arms);
/// Whether any of the arms has an AUC, as arms of click models do.
bool has_auc(const std::vector<analysis::ArmFigures>& arms);
/// Whether any of the arms has a boundary at which bytes are counted.
bool has_boundary(const std::vector<analysis::ArmFigures>& arms);
/// Returns one row per arm, over its seeds. The arm with the lowest loss is marked. If any arm has an AUC, the AUC
/// replaces the accuracy; if any arm has a boundary, the bytes at the boundary replace the ratio to fp16. remarks:
/// whether outcome_remark follows the names.
Table arms_table(const std::vector<analysis::ArmFigures>& arms, bool remarks = false);
/// Returns a text that names the baselines of the ratios in arms_table. Precondition: there is at least one arm.
std::string baselines_of(const std::vector<analysis::ArmFigures>& arms);
/// Prints one line for every run that did not finish.
void print_unfinished(const std::vector<analysis::ArmFigures>& arms, std::ostream& out);
/// Returns a warning that runs were rarely evaluated; empty if they have at least five evaluations.
std::string few_evaluations_text(const analysis::Comparison& comparison);

/// Returns a sentence on where the target loss comes from, followed by the warning of few_evaluations_text, if any.
std::string target_text(const analysis::Comparison& comparison);
/// Returns " (1 of 3 diverged)", " (ended above its start)" or " (1 of 3 diverged, the rest ended above its start)",
/// which follows an arm's name; empty if no run diverged and the mean loss ended below its start.
std::string outcome_remark(const analysis::ArmFigures& arm);

/// Returns each arm's cost of reaching the target. The comparison must have a target.
Table targets_table(const analysis::Comparison& comparison);

/// Prints the times on clusters, the cost of the target, and one row per arm.
void print_figures(const analysis::Comparison& comparison, std::ostream& out);
/// Prints the number of comparisons and their criterion, then each verdict with its warnings.
void print_verdicts(const analysis::Comparison& comparison, std::ostream& out);
/// Prints, for arms with one seed, how far each one's final loss and bytes are from those of its baseline.
void print_single_seed(const analysis::Comparison& comparison, std::ostream& out);
Json to_json(const analysis::Comparison& comparison);

}  // namespace onebit::experiments
