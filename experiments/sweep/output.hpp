#pragma once
// What a sweep shows at its end.

#include <iosfwd>
#include <map>

#include "experiments/output/output.hpp"
#include "experiments/sweep/planner.hpp"
#include "experiments/sweep/results.hpp"

namespace onebit::experiments {

/// The points, best first; the rest of a long list is counted, and is in `index`. Reasons of failures below.
void print_points(const std::vector<Point>& points, const std::vector<PointResult>& results, const std::string& index,
                  std::ostream& out);

/// A tuned arm with the mean losses of what was tried.
struct Grid {
  struct Row {
    std::string value;
    double loss = 0;  ///< mean over the seeds; infinite where one has none
    Index ended = 0, seeds = 0;
  };
  std::string label;
  std::string key;
  std::vector<Row> rows;  ///< by value
  std::size_t best = 0;   ///< row of the smallest loss
  bool found = false;     ///< some row has a loss
  bool at_edge = false;   ///< nothing was tried on one side of the best: the range may end too early
  bool complete = false;  ///< every value has been tried
};
std::vector<Grid> grids_of(const std::vector<TunedArm>& arms, const LossOfPoint& loss);
void print_grids(const std::vector<Grid>& grids, std::ostream& out);

Json to_json(const std::vector<Point>& points, const std::vector<PointResult>& results);
Json to_json(const std::vector<Grid>& grids);

/// For --dry-run: every point, and what the waiting ones will take in memory.
void print_plan(const std::vector<Point>& points, const std::vector<PointResult>& results,
                const std::map<std::string, PointPlan>& plans, std::ostream& out);
Json plan_json(const std::vector<Point>& points, const std::map<std::string, PointPlan>& plans);

}  // namespace onebit::experiments
