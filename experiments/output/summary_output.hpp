#pragma once
// A run's summary as text and as JSON.

#include "analysis/log/summary.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Returns the clusters for which `run` and `compare` show communication times.
std::vector<netmodel::Cluster> shown_clusters();

/// Returns a summary as JSON. status: state of the run as found outside its log; empty: the status in the log.
Json to_json(const analysis::Summary& summary, const std::string& status = "");

/// Prints a summary in two columns, quantity and value. status: same as for to_json.
void print_summary(const analysis::Summary& summary, std::ostream& out, const std::string& status = "");

}  // namespace onebit::experiments
