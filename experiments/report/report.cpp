#include "experiments/report/report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <set>

#include "device/base/csv.hpp"
#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "experiments/report/chart.hpp"
#include "experiments/report/grids.hpp"
#include "experiments/report/target_costs.hpp"

namespace onebit::experiments {
namespace {

using analysis::Arm;
using analysis::Run;

/// Returns the step sizes, or nothing if the log predates their columns or has no rows of tensors.
std::optional<analysis::StepSizes> step_sizes_of(const sim::LogReader& log) {
  try {
    return analysis::view_step_sizes(log);
  } catch (const ConfigError&) {
    return {};
  }
}

void add_variances(const analysis::VarianceOptions& options, Report& report) {
  for (const Arm& arm : report.arms) {
    if (!report.shows(arm.name)) continue;
    const sim::LogReader log(example_of(arm).summary.path);
    try {
      std::optional<analysis::StepSizes> sizes = step_sizes_of(log);
      report.variances.push_back(analysis::view_variance(log, options));
      report.step_sizes.push_back(std::move(sizes));
      report.variance_arms.push_back(arm.name);
    } catch (const ConfigError& error) {  // the run has no variance
      report.without_variance.push_back(arm.name + ": " + error.what());
    }
  }
  for (const analysis::RateGrid& grid : report.comparison.grids) {
    const bool shown =
        std::ranges::any_of(grid.arms, [&](std::size_t arm) { return report.shows(report.comparison.arms[arm].name); });
    if (!shown)
      report.without_variance.push_back(
          grid.name + ": it has no best learning rate; to show one of its arms, give that arm's name with --arms");
  }
}

void add_theories(Report& report) {
  for (const Arm& arm : report.arms) {
    const Run& run = example_of(arm);
    if (!run.header.probed || !report.shows(arm.name)) continue;
    const sim::LogReader log(run.summary.path);
    try {
      report.theories.push_back(analysis::view_theory(log));
      report.theory_arms.push_back(arm.name);
    } catch (const ConfigError& error) {  // too few rows
      report.without_theory.push_back(arm.name + ": " + error.what());
    }
  }
}

std::string csv_number(double value) {
  return std::isfinite(value) ? shortest(value) : "";
}

/// Keeps the arms that have one of these names; for a name that no arm has, those whose grid of learning rates has it.
/// Throws ConfigError for a name that neither has.
void keep(const std::vector<std::string>& names, std::vector<Arm>& arms) {
  if (names.empty()) return;
  const std::vector<analysis::RateGrid> grids = analysis::rate_grids(arms);
  std::vector<std::string> own;
  for (const Arm& arm : arms) own.push_back(arm.name);
  std::vector<std::string_view> known(own.begin(), own.end());
  for (const analysis::RateGrid& grid : grids) {
    if (std::ranges::find(known, grid.name) == known.end()) known.push_back(grid.name);
  }
  std::vector<Arm> kept;
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end())
      throw ConfigError("no arm has this name", "arms " + name, suggestion(name, known));
  }
  for (std::size_t a = 0; a < arms.size(); ++a) {
    const auto is_named = [&](const std::string& name) {
      const bool of_arm = std::ranges::find(own, name) != own.end();
      return name == (of_arm ? own[a] : analysis::grid_with(grids, a).name);
    };
    if (std::ranges::any_of(names, is_named)) kept.push_back(std::move(arms[a]));
  }
  arms = std::move(kept);
}

/// Returns the arms of figures and views: those of the first table, and those that were named.
std::vector<std::string> shown_arms(const analysis::Comparison& comparison, const std::vector<std::string>& named) {
  std::vector<std::string> shown = front_arms(comparison);
  for (const analysis::ArmFigures& arm : comparison.arms) {
    const auto has = [&](const std::vector<std::string>& names) {
      return std::ranges::find(names, arm.name) != names.end();
    };
    if (has(named) && !has(shown)) shown.push_back(arm.name);
  }
  return shown;
}

/// Returns the names of the arms that --best keeps: those that are shown, and those that the verdicts on them name.
std::set<std::string> names_at_best(const Report& report) {
  std::set<std::string> names(report.shown.begin(), report.shown.end());
  for (const analysis::Verdict& verdict : report.comparison.verdicts) names.insert({verdict.arm, verdict.baseline});
  return names;
}

/// Returns a grid with those of its arms that are still there. The arms' Rates::tried still list all of its rates.
analysis::RateGrid remaining(const analysis::RateGrid& grid, const std::vector<std::string>& names_before,
                             const std::vector<analysis::ArmFigures>& arms) {
  analysis::RateGrid rest{.name = grid.name, .arms = {}, .rates = {}, .best = {}};
  for (std::size_t i = 0; i < grid.arms.size(); ++i) {
    const auto arm = std::ranges::find(arms, names_before[grid.arms[i]], &analysis::ArmFigures::name);
    if (arm == arms.end()) continue;
    if (grid.best == i) rest.best = rest.arms.size();
    rest.arms.push_back(static_cast<std::size_t>(arm - arms.begin()));
    rest.rates.push_back(grid.rates[i]);
  }
  return rest;
}

/// Drops the arms that are not at the best rate of their grid.
void drop_others(Report& report) {
  analysis::Comparison& comparison = report.comparison;
  const std::set<std::string> kept = names_at_best(report);
  std::vector<std::string> names;
  for (const analysis::ArmFigures& arm : comparison.arms) names.push_back(arm.name);
  const auto is_other = [&](const auto& arm) { return !kept.contains(arm.name); };
  std::erase_if(report.arms, is_other);
  std::erase_if(comparison.arms, is_other);
  comparison.other_rates.clear();
  for (analysis::RateGrid& grid : comparison.grids) grid = remaining(grid, names, comparison.arms);
  std::erase_if(comparison.grids, [](const analysis::RateGrid& grid) { return grid.arms.empty(); });
}

/// Gives the maps of all arms one scale: from the least of their values to the largest possible.
void share_scale(std::vector<Figure>& figures) {
  double least = std::numeric_limits<double>::infinity();
  for (const Figure& figure : figures) {
    if (!figure.name.starts_with("tensors-")) continue;
    for (const std::vector<double>& row : figure.map.values) {
      for (const double value : row) least = std::isfinite(value) ? std::min(least, value) : least;
    }
  }
  if (!std::isfinite(least)) return;
  for (Figure& figure : figures) {
    if (figure.name.starts_with("tensors-")) figure.map.low = least;
  }
}

}  // namespace

bool Report::shows(const std::string& arm) const {
  return std::ranges::find(shown, arm) != shown.end();
}

const Run& example_of(const Arm& arm) {
  const auto finished =
      std::ranges::find_if(arm.runs, [](const Run& run) { return outcome_of(run) == analysis::Outcome::finished; });
  return finished == arm.runs.end() ? arm.runs.front() : *finished;
}

std::string numbered(const std::string& part, std::size_t arm) {
  return std::string(part).append("-").append(std::to_string(arm)).append("-");
}

Report report_of(analysis::LogSet logs, const ReportRequest& request, const netmodel::CostModel& model) {
  Report report;
  report.left_out = std::move(logs.left_out);
  report.arms = analysis::arms_of(std::move(logs.runs));
  keep(request.arms, report.arms);
  report.comparison = analysis::compare(report.arms, request.comparison, model);
  report.shown = shown_arms(report.comparison, request.arms);
  for (const analysis::Verdict& verdict : report.comparison.verdicts)
    report.target_costs.emplace(verdict.arm, target_costs(report, verdict));
  const bool any = std::ranges::any_of(report.target_costs, [](const auto& each) { return each.second.in_answer; });
  for (auto& [arm, costs] : report.target_costs) costs.in_answer = any;  // so that the answers can be compared
  if (request.best) drop_others(report);
  return report;
}

Report make_report(const std::vector<std::string>& paths, const ReportRequest& request,
                   const netmodel::CostModel& model) {
  Report report = report_of(analysis::read_logs(paths), request, model);
  report.findings = findings_of(report.arms);
  add_variances(request.variance, report);
  add_theories(report);
  return report;
}

std::vector<Figure> figures_of(const Report& report) {
  std::vector<Figure> figures = loss_figures(report.comparison, report.shown);
  for (Figure& figure : sweep_figures(report.arms, report.comparison)) figures.push_back(std::move(figure));
  for (Figure& figure : boundary_figures(report.arms, report.comparison)) figures.push_back(std::move(figure));
  if (!report.variances.empty())
    figures.push_back(stability_figure(report.comparison, report.variance_arms, report.variances));
  for (std::size_t a = 0; a < report.variances.size(); ++a) {
    if (report.variances[a].tensors.empty()) continue;
    if (report.variances[a].tensors.size() > 1) {  // otherwise the map would repeat the curve
      figures.push_back(tensor_figure(report.variance_arms[a], report.variances[a]));
      figures.back().name = numbered("tensors", a) + report.variance_arms[a];
    }
    if (!report.step_sizes[a]) continue;
    figures.push_back(steps_figure(report.variance_arms[a], *report.step_sizes[a], report.variances[a].freeze_step));
    figures.back().name = numbered("steps", a) + report.variance_arms[a];
  }
  for (std::size_t a = 0; a < report.theories.size(); ++a) {
    if (report.theories[a].bound.empty()) continue;
    figures.push_back(bound_figure(report.theory_arms[a], report.theories[a]));
    figures.back().name = numbered("bound", a) + report.theory_arms[a];
  }
  share_scale(figures);
  return figures;
}

void write_csv(const Report& report, std::ostream& out) {
  out << "arm,seed,log,status,step,samples,bytes,loss,accuracy,auc\n";
  for (const Arm& arm : report.arms) {
    for (const Run& run : arm.runs) {
      const std::string start = csv_text(arm.name) + "," + std::to_string(run.summary.seed) + "," +
                                csv_text(run.summary.path) + "," + sim::name_of(run.summary.status) + ",";
      for (const sim::EvaluationRow& row : run.evaluations) {
        out << start << row.step << "," << row.samples << "," << csv_number(row.bytes) << "," << csv_number(row.loss)
            << "," << csv_number(row.accuracy) << "," << csv_number(row.auc) << "\n";
      }
    }
  }
}

}  // namespace onebit::experiments
