#pragma once
// A run's summary as text and as JSON.

#include "analysis/summary.hpp"
#include "experiments/output.hpp"

namespace onebit::experiments {

/// Whose communication times a run and a comparison show.
std::vector<netmodel::Cluster> shown_clusters();

Json to_json(const analysis::Summary& summary);

/// Two columns, what and value.
void print_summary(const analysis::Summary& summary, std::ostream& out);

}  // namespace onebit::experiments
