#include "experiments/report/cautions.hpp"

#include <algorithm>

#include "analysis/compare/arm_names.hpp"
#include "analysis/compare/late_losses.hpp"
#include "analysis/compare/rate_grid.hpp"
#include "device/base/text.hpp"
#include "experiments/output/comparison_output.hpp"
#include "experiments/report/answers.hpp"
#include "experiments/report/chart.hpp"
#include "experiments/report/grids.hpp"
#include "experiments/report/html.hpp"

namespace onebit::experiments {
namespace {

using analysis::ArmFigures;
using analysis::Comparison;
using analysis::Verdict;

/// Returns "Diverged: a (3 of 3 seeds).", or another such sentence on the arms that have a remark; empty if none
/// has.
template <class Remark>
std::string named_arms(const Comparison& comparison, const std::string& what, const Remark& remark) {
  std::vector<std::string> names;
  for (const ArmFigures& arm : comparison.arms) {
    if (const std::string text = remark(arm); !text.empty()) names.push_back(arm.name + text);
  }
  return names.empty() ? "" : what + ": " + join(names, "; ") + ".";
}

/// One warning on several grids, in place of one on each.
struct JointWarning {
  std::vector<std::string> own;  ///< the warnings on the individual grids
  std::string text;              ///< empty if no grid has this warning
};

/// Returns the joint warning on the grids of the best arms for which text_of(grid) is not empty: `before`, their names
/// with their best rates, after(the largest gap at their best rates). If there is one such grid, its own warning is the
/// joint one.
template <class TextOf, class After>
JointWarning joint_warning(const Comparison& comparison, const TextOf& text_of, const std::string& before,
                           const After& after) {
  JointWarning joint;
  std::vector<std::string> arms;
  double gap = 1;
  for (const std::string& name : best_arms(comparison)) {
    if (grid_of(comparison, name) == comparison.grids.size()) continue;
    const analysis::RateGrid grid = whole_grid(comparison, name);
    const std::string text = text_of(grid);
    if (text.empty()) continue;
    joint.own.push_back(warning_line(text));
    arms.push_back(grid.name + " (" + shortest(grid.rates[*grid.best]) + ")");
    gap = std::max(gap, grid.gap_at_best());
  }
  joint.text = joint.own.size() == 1 ? joint.own.front() : arms.empty() ? "" : before + enumerated(arms) + after(gap);
  return joint;
}

/// Returns the joint warnings on best rates that are far from the next ones, the smallest, or the largest of their
/// grid.
std::vector<JointWarning> rate_warnings(const Comparison& comparison) {
  const auto gap = [](const analysis::RateGrid& grid) { return grid.is_coarse() ? analysis::gap_text(grid) : ""; };
  const auto edge = [](bool smallest) {
    return [smallest](const analysis::RateGrid& grid) {
      return grid.best_at_edge() && (*grid.best == 0) == smallest ? analysis::edge_text(grid) : "";
    };
  };
  const auto beyond = [](const std::string& which) {
    return [which](double) { return " are the " + which + " that were tried; better ones may be beyond them."; };
  };
  const auto between = [](double factor) {
    return " differ from these by factors of up to " + analysis::gap_factor(factor) +
           "; rates between them may be better.";
  };
  const std::string before = "Warning: the best learning rates of ";
  return {joint_warning(comparison, edge(true), before, beyond("smallest")),
          joint_warning(comparison, edge(false), before, beyond("largest")),
          joint_warning(comparison, gap, "Warning: the learning rates next to the best ones of ", between)};
}

/// Returns " (its mean, and 2 of 3 finished seeds; final losses 0.47 to 1e+07)" for an arm of which a run, or the mean
/// loss, ended above its starting loss; otherwise empty.
std::string risen_text(const Report& report, const ArmFigures& arm) {
  const analysis::Arm& runs = *std::ranges::find(report.arms, arm.name, &analysis::Arm::name);
  const Index risen = std::ranges::count_if(runs.runs, analysis::ended_above_start);
  if (risen == 0 && !arm.above_start) return "";
  const std::string range = loss_range_text(arm);
  if (arm.finished < 2) return " (" + range + ")";
  const bool all = risen == arm.finished;
  return std::string(" (") + (arm.above_start && !all ? "its mean, and " : "") + std::to_string(risen) + " of " +
         html::counted(arm.finished, "finished seed") + "; final losses " + range + ")";
}

/// Names the verdicts that rest on one evaluation of each run; empty if none does.
std::string last_line(const Comparison& comparison) {
  std::vector<std::string> arms;
  for (const Verdict& verdict : comparison.verdicts) {
    if (verdict.rests_on_last) arms.push_back(analysis::spoken_name(name_at_best(comparison, verdict.arm)));
  }
  if (arms.empty()) return "";
  return std::string(arms.size() == 1 ? "The verdict on " : "The verdicts on ") + enumerated(arms) +
         (arms.size() == 1 ? " rests" : " rest") +
         " on the last evaluation of each run, because runs have fewer than " +
         std::to_string(analysis::least_late_evaluations) + " evaluations in the last fifth of their steps.";
}

}  // namespace

std::vector<std::string> cautions_of(const Report& report) {
  const Comparison& comparison = report.comparison;
  const std::vector<JointWarning> joint = rate_warnings(comparison);
  std::vector<std::string> lines;
  for (const std::string& note : comparison.notes) lines.push_back("Note: " + note + ".");
  lines.push_back(named_arms(comparison, "Diverged", [](const ArmFigures& arm) {
    return arm.diverged == 0 ? "" : " (" + diverged_seeds(arm) + ")";
  }));
  lines.push_back(named_arms(comparison, "Ended above the starting loss",
                             [&](const ArmFigures& arm) { return risen_text(report, arm); }));
  lines.push_back(few_evaluations_text(comparison));
  lines.push_back(last_line(comparison));
  for (const Verdict& verdict : comparison.verdicts) {
    for (const std::string& line : warnings_on(verdict, comparison)) {
      if (line == warning_line(verdict.late_warning)) continue;  // the answer and its evidence say so
      const auto found = std::ranges::find_if(
          joint, [&](const JointWarning& each) { return std::ranges::find(each.own, line) != each.own.end(); });
      const std::string& text = found == joint.end() ? line : found->text;
      if (std::ranges::find(lines, text) == lines.end()) lines.push_back(text);
    }
  }
  if (comparison.verdicts.empty()) {
    for (const JointWarning& each : joint) lines.push_back(each.text);
  }
  for (const SharedFinding& finding : report.findings) {
    std::vector<std::string> names = report.shown;
    if (finding.cause == analysis::Cause::ended_above_start)  // these arms are named above
      std::erase_if(names, [&](const auto& name) { return !risen_text(report, figures_of(comparison, name)).empty(); });
    if (const std::string line = line_on(names, finding, report.arms); !line.empty()) lines.push_back(line + ".");
  }
  std::erase(lines, "");
  return lines;
}

}  // namespace onebit::experiments
