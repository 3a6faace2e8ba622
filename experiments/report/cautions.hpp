#pragma once
// Lines below the first table of a report: which arms went wrong, and what limits the answers.

#include <string>
#include <vector>

#include "experiments/report/report.hpp"

namespace onebit::experiments {

/// Returns one sentence or more per line. Arms with the same remark, and grids with the same warning, share a line.
std::vector<std::string> cautions_of(const Report& report);

}  // namespace onebit::experiments
