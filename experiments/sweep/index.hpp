#pragma once
// The index of a sweep: a row per point in point order, what it was and what became of it. Times stand in the last
// columns; everything before is the same however often a sweep was interrupted.

#include "experiments/sweep/points.hpp"
#include "experiments/sweep/results.hpp"

namespace onebit::experiments {

/// index.csv, as text.
std::string index_csv(const std::vector<Point>& points, const std::vector<PointResult>& results);

/// Results of the points, in their order.
std::vector<PointResult> results_of(const std::vector<Point>& points, Results& results);

/// Writes DIR/index.csv and DIR/index.h5, each whole at any time; looks again afterwards, and writes again where
/// another shard has finished a point meanwhile: whoever writes last knows all. Throws IoError.
void write_index(const std::string& folder, const std::vector<Point>& points, Results& results);

}  // namespace onebit::experiments
