#pragma once
// Arms that were compared by their logs, as tables and as JSON.

#include <iosfwd>

#include "analysis/comparison.hpp"
#include "experiments/output.hpp"

namespace onebit::experiments {

void print_comparison(const analysis::Comparison& comparison, std::ostream& out);
Json to_json(const analysis::Comparison& comparison);

}  // namespace onebit::experiments
