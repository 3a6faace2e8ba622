#pragma once
// Figures of an arm: means over its seeds with intervals, curves, and the cost of reaching a loss.

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/paired.hpp"
#include "analysis/compare/verdict.hpp"
#include "analysis/log/computing.hpp"

namespace onebit::analysis {

/// Quantity on a curve's x axis. The values on the axis `seconds` are estimates for a cluster.
enum class Axis { steps, samples, bytes, seconds };

/// Evaluated loss of an arm, averaged over its finished runs or, if none finished, over all of its runs that have
/// evaluations. The points are the steps at which all of the averaged runs were evaluated; Point::loss.count is the
/// number of averaged runs.
struct LossCurve {
  struct Point {
    double x;  ///< mean over the runs, which may freeze at different steps and then send different numbers of bytes
    Interval loss;
  };
  Axis axis = Axis::steps;
  std::string cluster;  ///< the cluster of the axis seconds; otherwise empty
  std::vector<Point> points;
};

/// The evaluations of one run that have a finite loss, with their positions on every axis.
struct RunCurve {
  std::uint32_t seed = 0;
  Outcome outcome = Outcome::finished;
  std::vector<double> losses;
  std::vector<std::vector<double>> x;  ///< positions [axis][evaluation]; axes in the order of ArmFigures::curves
};

/// Seconds on one cluster, estimated by each run's Timeline, with an interval over the seeds.
struct ClusterSeconds {
  std::string cluster;
  Interval seconds;
  /// Times of the run that example_times selects if every exchange takes longer (`longer`) or less time (`shorter`) by
  /// the cluster's uncertainty; set only in ArmFigures::seconds.
  double longer = std::numeric_limits<double>::quiet_NaN(), shorter = longer;
};

/// The bytes that one worker would have sent in the baseline, divided by the bytes that it actually sent.
struct DenseRatio {
  std::string baseline;  ///< the baseline in words
  Interval times;
};

/// The times of one run on each cluster, in the order of the clusters.
struct RunTimes {
  std::vector<double> seconds;  ///< estimated time of the whole run
  std::vector<CommunicationTime> communication;
  std::vector<netmodel::StepEstimate> steps;  ///< parts of the mean step: Timeline::mean
};

/// Cost of reaching the target, over the runs that finished or diverged; the intervals are NaN if one of these runs did
/// not reach the target. See reached_at. If is_rough() holds for any of the runs, each interval is replaced by an upper
/// bound: its mean is the largest value over the runs (evaluated_at), and it has no half-width.
struct TargetCost {
  Index runs = 0, reached = 0;
  bool is_bound = false;
  Interval steps, samples, bytes;
  std::vector<ClusterSeconds> seconds;
};

/// Figures of one arm. Intervals are over the seeds that finished.
struct ArmFigures {
  std::string name;
  Rates rates;
  Index runs = 0, finished = 0, diverged = 0, failed = 0, unfinished = 0;
  bool above_start = false;                       ///< start_and_end().rose()
  std::vector<std::string> unfinished_runs;       ///< one line per run that did not finish: see unfinished_lines
  Interval final_loss, best_loss, accuracy, auc;  ///< evaluated losses, accuracy and AUC
  Interval boundary_bytes;                        ///< part of `bytes` that crossed a boundary; NaN: no boundary
  Interval bytes;                                 ///< bytes sent by one worker over the run
  Interval step_messages;                         ///< messages that one worker sends in a step
  DenseRatio ratio_fp16, ratio_fp32;              ///< ratios of bytes
  std::vector<ClusterSeconds> seconds;            ///< time of the run on each cluster
  std::vector<RunTimes> times;                    ///< times of every run, in the order of the arm's runs
  std::vector<LossCurve> curves;     ///< curves against steps, samples and bytes, then seconds on each cluster
  std::vector<RunCurve> run_curves;  ///< curves of the individual runs, in the order of the arm's runs
  TargetCost to_target;
};

/// Returns the times of an arm's first finished run, or those of its first run if none finished.
const RunTimes& example_times(const ArmFigures& arm);

/// The figures of several arms. Runs that compute the same gradients share one compute time.
struct PricedArms {
  std::vector<ArmFigures> arms;           ///< in the order given
  std::vector<ComputingGroup> computing;  ///< compute times used; empty if the rules give a workload or both passes
};

/// Computes the figures of arms and their times on clusters with distinct names; `target` is the loss to reach, or NaN.
/// The caller sets ArmFigures::rates. Throws ConfigError if a cluster cannot hold the workers.
PricedArms price_arms(std::span<const Arm> arms, double target, std::span<const netmodel::Cluster> clusters,
                      const PriceRules& rules, const netmodel::CostModel& model);

}  // namespace onebit::analysis
