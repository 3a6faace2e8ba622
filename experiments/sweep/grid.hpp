#pragma once
// The results of a sweep as a grid. A row is an arm, a column is a value of one option, and a cell holds the runs of
// all seeds.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/paired.hpp"
#include "experiments/sweep/points.hpp"
#include "experiments/sweep/results.hpp"

namespace onebit::experiments {

/// The runs that differ only in their seed.
struct GridCell {
  std::string value;                                      ///< value of the grid's option
  Index seeds = 0;                                        ///< number of runs
  Index done = 0, diverged = 0, failed = 0, waiting = 0;  ///< how many of them are in these states
  analysis::Interval loss;                                ///< final loss over the runs that are done
  std::map<std::uint32_t, double> losses;                 ///< final loss of each of them, by seed

  /// Whether every run is done, with a finite loss.
  bool whole() const;
};

/// The runs that differ only in the grid's option and the seed.
struct GridArm {
  std::string label;                ///< name and options of the arm; empty if the sweep has only one
  std::string optimizer;            ///< optimizer of its runs
  std::vector<GridCell> cells;      ///< in the order of their values if these are numbers, otherwise of the points
  std::optional<std::size_t> best;  ///< the whole cell with the lowest loss

  /// Whether every run is over.
  bool ended() const;
  /// Whether the best cell is the first or the last of several.
  bool best_at_edge() const;
};

struct SweepGrid {
  std::string arms;      ///< heading of the arms' labels
  std::string key;       ///< the option; empty if the points differ only in arm and seed
  bool numeric = false;  ///< whether all values of the option are numbers
  std::vector<GridArm> rows;
  std::optional<std::size_t> best;  ///< the arm with the lowest loss of all

  /// Returns the option's values, in order.
  std::vector<std::string> values() const;
};

/// Arranges the points. The grid's option is `tuned` if that has several values; otherwise the learning rate if that
/// has several; otherwise the last option that has several.
SweepGrid grid_of(const std::vector<Point>& points, const std::vector<PointResult>& results,
                  const std::string& tuned = "");

}  // namespace onebit::experiments
