#pragma once
// A sweep's points, plans and tuned options for people and for programs; see also grid_output.hpp.

#include <iosfwd>
#include <map>

#include "experiments/output/output.hpp"
#include "experiments/sweep/planner.hpp"
#include "experiments/sweep/results.hpp"

namespace onebit::experiments {

/// A tuned arm with the mean losses of the values tried.
struct Grid {
  struct Row {
    std::string value;
    double loss = 0;  ///< mean over the seeds; infinite if a seed has no loss
    Index ended = 0, seeds = 0;
  };
  std::string label;
  std::string key;
  std::vector<Row> rows;  ///< ascending by value
  std::size_t best = 0;   ///< row with the smallest loss
  bool found = false;     ///< whether any row has a loss
  bool at_edge = false;   ///< no value was tried on one side of the best one, so the range may be too narrow
  bool complete = false;  ///< every value has been tried
};
std::vector<Grid> grids_of(const std::vector<TunedArm>& arms, const LossOfPoint& loss);

Json to_json(const std::vector<Point>& points, const std::vector<PointResult>& results);
Json to_json(const std::vector<Grid>& grids);

/// Prints, for --dry-run, every point and the memory that the waiting ones will take.
void print_plan(const std::vector<Point>& points, const std::vector<PointResult>& results,
                const std::map<std::string, PointPlan>& plans, std::ostream& out);
Json plan_json(const std::vector<Point>& points, const std::map<std::string, PointPlan>& plans);

}  // namespace onebit::experiments
