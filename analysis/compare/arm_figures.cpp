#include "analysis/compare/arm_figures.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "analysis/compare/target.hpp"

namespace onebit::analysis {
namespace {

/// A run with its timeline on each cluster.
struct TimedRun {
  const Run* run;
  Outcome outcome;
  std::vector<Timeline> clocks;
};

using Runs = std::vector<const TimedRun*>;
using AxisValue = std::function<double(const TimedRun&, const sim::EvaluationRow&)>;

struct NamedAxis {
  Axis axis;
  std::string cluster;
  AxisValue value;
};

/// The axes: steps, samples, bytes, then seconds on each cluster.
std::vector<NamedAxis> axes_on(std::span<const netmodel::Cluster> clusters) {
  using Row = sim::EvaluationRow;
  std::vector<NamedAxis> axes = {
      {Axis::steps, "", [](const TimedRun&, const Row& row) { return static_cast<double>(row.step); }},
      {Axis::samples, "", [](const TimedRun&, const Row& row) { return static_cast<double>(row.samples); }},
      {Axis::bytes, "", [](const TimedRun&, const Row& row) { return row.bytes; }}};
  for (std::size_t c = 0; c < clusters.size(); ++c) {
    axes.push_back({Axis::seconds, clusters[c].name,
                    [c](const TimedRun& run, const Row& row) { return run.clocks[c].at(row.step); }});
  }
  return axes;
}

/// Inputs that the figures of all arms share.
struct Pricing {
  double target;
  std::span<const netmodel::Cluster> clusters;
  const PriceRules& rules;
  const netmodel::CostModel& model;
  const SharedComputing& computing;
};

std::vector<TimedRun> timed_runs(const Arm& arm, const Pricing& pricing) {
  std::vector<TimedRun> runs;
  for (const Run& run : arm.runs) {
    runs.push_back({&run, outcome_of(run), {}});
    for (const netmodel::Cluster& cluster : pricing.clusters) {
      runs.back().clocks.emplace_back(pricing.computing.size_of(run.summary), run.exchanges, cluster, pricing.model,
                                      pricing.rules);
    }
  }
  return runs;
}

Runs runs_that(const std::vector<TimedRun>& runs, const std::function<bool(const TimedRun&)>& belongs) {
  Runs chosen;
  for (const TimedRun& run : runs) {
    if (belongs(run)) chosen.push_back(&run);
  }
  return chosen;
}

bool has_finished(const TimedRun& run) {
  return run.outcome == Outcome::finished;
}

/// Returns the interval of a value over the runs.
Interval interval_of(const Runs& runs, const std::function<double(const TimedRun&)>& value) {
  std::vector<double> values;
  for (const TimedRun* run : runs) values.push_back(value(*run));
  return mean_interval(values);
}

/// Returns the largest value over the runs, without an interval; NaN if one of them is.
Interval largest_of(const Runs& runs, const std::function<double(const TimedRun&)>& value) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const TimedRun* run : runs) {
    const double own = value(*run);
    largest = std::isnan(own) || own > largest ? own : largest;
    if (std::isnan(largest)) break;
  }
  return {largest, std::numeric_limits<double>::quiet_NaN(), static_cast<Index>(runs.size())};
}

Interval interval_of(const Runs& runs, double Summary::*figure) {
  return interval_of(runs, [&](const TimedRun& run) { return run.run->summary.*figure; });
}

/// Returns the evaluation at a step; `guess` is its index if all runs are evaluated at the same steps.
const sim::EvaluationRow* row_at(const TimedRun& run, Index step, std::size_t guess) {
  const std::vector<sim::EvaluationRow>& rows = run.run->evaluations;
  if (guess < rows.size() && rows[guess].step == step) return &rows[guess];
  const auto found = std::ranges::find(rows, step, &sim::EvaluationRow::step);
  return found == rows.end() ? nullptr : &*found;
}

/// Returns the evaluations of all runs at each step at which all of them were evaluated.
std::vector<std::vector<const sim::EvaluationRow*>> common_rows(const Runs& runs) {
  std::vector<std::vector<const sim::EvaluationRow*>> points;
  if (runs.empty()) return points;
  const std::vector<sim::EvaluationRow>& first = runs.front()->run->evaluations;
  for (std::size_t i = 0; i < first.size(); ++i) {
    std::vector<const sim::EvaluationRow*> rows;
    for (const TimedRun* run : runs) rows.push_back(row_at(*run, first[i].step, i));
    if (std::ranges::find(rows, nullptr) == rows.end()) points.push_back(rows);
  }
  return points;
}

LossCurve curve_of(const Runs& runs, const std::vector<std::vector<const sim::EvaluationRow*>>& points,
                   const NamedAxis& axis) {
  LossCurve curve{axis.axis, axis.cluster, {}};
  for (const auto& rows : points) {
    double sum = 0;
    std::vector<double> losses;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      sum += axis.value(*runs[i], *rows[i]);
      losses.push_back(rows[i]->loss);
    }
    curve.points.push_back({sum / static_cast<double>(runs.size()), mean_interval(losses)});
  }
  return curve;
}

std::vector<LossCurve> curves_of(const std::vector<TimedRun>& all, const std::vector<NamedAxis>& axes) {
  Runs runs = runs_that(all, has_finished);
  if (runs.empty()) runs = runs_that(all, [](const TimedRun& run) { return !run.run->evaluations.empty(); });
  const auto points = common_rows(runs);
  std::vector<LossCurve> curves;
  for (const NamedAxis& axis : axes) curves.push_back(curve_of(runs, points, axis));
  return curves;
}

RunCurve curve_of(const TimedRun& run, const std::vector<NamedAxis>& axes) {
  RunCurve curve{.seed = run.run->summary.seed, .outcome = run.outcome, .losses = {}, .x = {}};
  curve.x.resize(axes.size());
  for (const sim::EvaluationRow& row : run.run->evaluations) {
    if (!std::isfinite(row.loss)) continue;
    curve.losses.push_back(row.loss);
    for (std::size_t a = 0; a < axes.size(); ++a) curve.x[a].push_back(axes[a].value(run, row));
  }
  return curve;
}

/// Returns how(x, losses, target) for the evaluations of a run, with x on one axis.
template <class How>
auto along(const NamedAxis& axis, const TimedRun& run, double target, const How& how) {
  std::vector<double> x, losses;
  for (const sim::EvaluationRow& row : run.run->evaluations) {
    x.push_back(axis.value(run, row));
    losses.push_back(row.loss);
  }
  return how(x, losses, target);
}

TargetCost cost_of(const std::vector<TimedRun>& all, double target, const std::vector<NamedAxis>& axes) {
  const Runs runs = runs_that(
      all, [](const TimedRun& run) { return run.outcome == Outcome::finished || run.outcome == Outcome::diverged; });
  TargetCost cost;
  cost.runs = static_cast<Index>(runs.size());
  cost.reached = std::ranges::count_if(
      runs, [&](const TimedRun* run) { return !std::isnan(along(axes.front(), *run, target, evaluated_at)); });
  cost.is_bound =
      std::ranges::any_of(runs, [&](const TimedRun* run) { return along(axes.front(), *run, target, is_rough); });
  const auto on = [&](const NamedAxis& axis) {
    if (cost.is_bound)
      return largest_of(runs, [&](const TimedRun& run) { return along(axis, run, target, evaluated_at); });
    return interval_of(runs, [&](const TimedRun& run) { return along(axis, run, target, reached_at); });
  };
  cost.steps = on(axes[0]);
  cost.samples = on(axes[1]);
  cost.bytes = on(axes[2]);
  for (std::size_t i = 3; i < axes.size(); ++i) cost.seconds.push_back({axes[i].cluster, on(axes[i])});
  return cost;
}

Index count_of(const std::vector<TimedRun>& runs, Outcome outcome) {
  return std::ranges::count(runs, outcome, &TimedRun::outcome);
}

void count_runs(const std::vector<TimedRun>& runs, ArmFigures& figures) {
  figures.runs = static_cast<Index>(runs.size());
  figures.finished = count_of(runs, Outcome::finished);
  figures.diverged = count_of(runs, Outcome::diverged);
  figures.failed = count_of(runs, Outcome::failed);
  figures.unfinished = count_of(runs, Outcome::unfinished);
}

RunTimes times_of(const TimedRun& run, std::span<const netmodel::Cluster> clusters) {
  RunTimes times;
  for (std::size_t c = 0; c < clusters.size(); ++c) {
    times.seconds.push_back(run.clocks[c].at(run.run->summary.steps));
    times.communication.push_back(communication_of(clusters[c].name, run.clocks[c]));
    times.steps.push_back(run.clocks[c].mean());
  }
  return times;
}

SharedComputing computing_of(std::span<const Arm> arms) {
  std::vector<SharedComputing::NamedRun> runs;
  for (const Arm& arm : arms) {
    for (const Run& run : arm.runs) runs.push_back({arm.name, &run.summary});
  }
  return SharedComputing(runs);
}

/// Returns the times of the whole run on each cluster. If a part of the exchanges is exposed, all additional time is
/// exposed too; saved time shortens only that part.
std::vector<ClusterSeconds> seconds_of(const std::vector<TimedRun>& runs, const Pricing& pricing) {
  const Runs finished = runs_that(runs, has_finished);
  const TimedRun& example = finished.empty() ? runs.front() : *finished.front();
  const auto steps = static_cast<double>(example.run->summary.steps);
  std::vector<ClusterSeconds> seconds;
  for (std::size_t c = 0; c < pricing.clusters.size(); ++c) {
    const netmodel::Cluster& cluster = pricing.clusters[c];
    const netmodel::StepEstimate step = example.clocks[c].mean();
    const double change = netmodel::uncertainty_of(cluster) * step.all_communication.value;
    const double shown = step.communication.value, time = example.clocks[c].at(example.run->summary.steps);
    const auto at_end = [&](const TimedRun& run) { return run.clocks[c].at(run.run->summary.steps); };
    seconds.push_back({cluster.name, interval_of(finished, at_end), time + steps * (shown > 0 ? change : 0),
                       time - steps * std::min(change, shown)});
  }
  return seconds;
}

ArmFigures figures_of(const Arm& arm, const Pricing& pricing) {
  const std::span<const netmodel::Cluster> clusters = pricing.clusters;
  const std::vector<TimedRun> runs = timed_runs(arm, pricing);
  const std::vector<NamedAxis> axes = axes_on(clusters);
  const Runs finished = runs_that(runs, has_finished);
  ArmFigures figures;
  figures.name = arm.name;
  count_runs(runs, figures);
  figures.above_start = start_and_end(arm).rose();
  figures.unfinished_runs = unfinished_lines(arm);
  figures.final_loss = interval_of(finished, &Summary::final_loss);
  figures.best_loss = interval_of(finished, &Summary::best_loss);
  figures.accuracy = interval_of(finished, &Summary::accuracy);
  figures.auc = interval_of(finished, &Summary::auc);
  figures.boundary_bytes = interval_of(finished, &Summary::boundary_bytes);
  figures.bytes = interval_of(finished, &Summary::bytes);
  figures.step_messages = interval_of(finished, &Summary::step_messages);
  figures.ratio_fp16 = {"a ring all-reduce of fp16 gradients at every step",
                        interval_of(finished, &Summary::ratio_fp16)};
  figures.ratio_fp32 = {"a ring all-reduce of fp32 gradients at every step",
                        interval_of(finished, &Summary::ratio_fp32)};
  figures.seconds = seconds_of(runs, pricing);
  for (const TimedRun& run : runs) figures.times.push_back(times_of(run, clusters));
  figures.curves = curves_of(runs, axes);
  for (const TimedRun& run : runs) figures.run_curves.push_back(curve_of(run, axes));
  figures.to_target = cost_of(runs, pricing.target, axes);
  return figures;
}

}  // namespace

const RunTimes& example_times(const ArmFigures& arm) {
  const auto finished = std::ranges::find(arm.run_curves, Outcome::finished, &RunCurve::outcome);
  return arm.times[finished == arm.run_curves.end() ? 0 : static_cast<std::size_t>(finished - arm.run_curves.begin())];
}

PricedArms price_arms(std::span<const Arm> arms, double target, std::span<const netmodel::Cluster> clusters,
                      const PriceRules& rules, const netmodel::CostModel& model) {
  const SharedComputing computing = computing_of(arms);
  PricedArms priced;
  if (measures_computing(rules)) priced.computing = computing.groups();
  for (const Arm& arm : arms) priced.arms.push_back(figures_of(arm, {target, clusters, rules, model, computing}));
  return priced;
}

}  // namespace onebit::analysis
