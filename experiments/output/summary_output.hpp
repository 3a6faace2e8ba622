#pragma once
// A run's summary as text and as JSON.

#include "analysis/log/summary.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Returns the clusters for which a run and a comparison show communication times.
std::vector<netmodel::Cluster> shown_clusters();

/// Returns a summary as JSON. status: what is known of the run's state besides its log; empty: the log's own status.
Json to_json(const analysis::Summary& summary, const std::string& status = "");

/// Prints two columns, quantity and value. status: as for to_json.
void print_summary(const analysis::Summary& summary, std::ostream& out, const std::string& status = "");

}  // namespace onebit::experiments
