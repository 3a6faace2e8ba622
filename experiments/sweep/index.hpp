#pragma once
// The index of a sweep: one row per point in point order, with its settings and its result. Times are in the last
// column; all other columns are the same however often the sweep was interrupted.

#include "experiments/sweep/points.hpp"
#include "experiments/sweep/results.hpp"

namespace onebit::experiments {

/// Returns the text of index.csv.
std::string index_csv(const std::vector<Point>& points, const std::vector<PointResult>& results);

/// Returns the results of the points, in their order.
std::vector<PointResult> results_of(const std::vector<Point>& points, Results& results);

/// Writes DIR/index.csv and DIR/index.h5, replacing each atomically. Afterwards it checks again, and rewrites them if
/// another shard has finished a point in the meantime, so that the last writer's index is complete. Throws IoError.
void write_index(const std::string& folder, const std::vector<Point>& points, Results& results);

}  // namespace onebit::experiments
