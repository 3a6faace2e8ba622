#pragma once
// An arm in figures: means over its seeds with intervals, curves, what it took to reach a loss.

#include <span>
#include <string>
#include <vector>

#include "analysis/paired.hpp"
#include "analysis/verdict.hpp"

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

/// Estimated, over the seeds: communication as it was recorded, one exchange after the other, and a computing time per
/// step.
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
  std::vector<std::string> unfinished_runs;  ///< a line for each run that did not finish, see unfinished_lines
  Interval final_loss, best_loss, accuracy;  ///< of the evaluations
  Interval bytes;                            ///< sent by one worker over the run
  DenseRatio ratio_fp16, ratio_fp32;         ///< of bytes
  std::vector<ClusterSeconds> seconds;       ///< of the run, on each cluster
  std::vector<LossCurve> curves;             ///< against steps, samples, bytes, then seconds on each cluster
  TargetCost to_target;
};

/// compute_seconds: of a step; 0: communication alone. `rates` are left to the caller, who knows the other arms. Throws
/// ConfigError where a cluster cannot hold the workers.
ArmFigures figures_of(const Arm& arm, double target, std::span<const netmodel::Cluster> clusters,
                      double compute_seconds, const netmodel::CostModel& model);

}  // namespace onebit::analysis
