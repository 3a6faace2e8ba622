#pragma once
// An arm in figures: means over its seeds with intervals, curves, what it took to reach a loss.

#include <span>
#include <string>
#include <vector>

#include "analysis/log/computing.hpp"
#include "analysis/compare/paired.hpp"
#include "analysis/compare/verdict.hpp"

namespace onebit::analysis {

/// What a curve's loss stands against. seconds: estimated, on a cluster.
enum class Axis { steps, samples, bytes, seconds };

/// Evaluated loss of an arm over its runs that finished (where none did, over all that have evaluations), at the steps
/// that all of them evaluated; loss.count says over how many.
struct LossCurve {
  struct Point {
    double x;  ///< mean over the runs: seeds may freeze at other steps, and so send other bytes
    Interval loss;
  };
  Axis axis = Axis::steps;
  std::string cluster;  ///< of seconds; else empty
  std::vector<Point> points;
};

/// Estimated by the Timeline of each run, over the seeds.
struct ClusterSeconds {
  std::string cluster;
  Interval seconds;
};

/// How many times less one worker sent than it would have in the baseline.
struct DenseRatio {
  std::string baseline;  ///< in words
  Interval times;
};

/// What it took to reach the target, over the runs that finished or diverged; an interval is NaN where one of them did
/// not reach it. See reached_at.
struct TargetCost {
  Index runs = 0, reached = 0;
  Interval steps, samples, bytes;
  std::vector<ClusterSeconds> seconds;
};

/// Intervals are over the seeds that finished.
struct ArmFigures {
  std::string name;
  Rates rates;
  Index runs = 0, finished = 0, diverged = 0, failed = 0, unfinished = 0;
  std::vector<std::string> unfinished_runs;      ///< a line for each run that did not finish, see unfinished_lines
  Interval final_loss, best_loss, accuracy;      ///< of the evaluations
  Interval bytes;                                ///< sent by one worker over the run
  DenseRatio ratio_fp16, ratio_fp32;             ///< of bytes
  std::vector<ClusterSeconds> seconds;           ///< of the run, on each cluster
  std::vector<CommunicationTime> communication;  ///< of its first run, on each cluster
  std::vector<LossCurve> curves;                 ///< against steps, samples, bytes, then seconds on each cluster
  TargetCost to_target;
};

/// What arms are priced by.
struct Pricing {
  std::span<const netmodel::Cluster> clusters;
  const netmodel::CostModel& model;
  const PriceRules& rules;
  const SharedComputing& computing;  ///< of the arms' runs, and perhaps more
};

/// `rates` are left to the caller, who knows the other arms. Throws ConfigError where a cluster cannot hold the
/// workers.
ArmFigures figures_of(const Arm& arm, double target, const Pricing& pricing);

/// Of what computing takes in all their runs.
SharedComputing computing_of(std::span<const Arm> arms);

}  // namespace onebit::analysis
