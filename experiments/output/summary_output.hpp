#pragma once
// A run's summary as text and as JSON.

#include "analysis/log/summary.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Whose communication times a run and a comparison show.
std::vector<netmodel::Cluster> shown_clusters();

/// status: what is known of the run's state besides its log; empty: what the log says.
Json to_json(const analysis::Summary& summary, const std::string& status = "");

/// Two columns, what and value. status: as above.
void print_summary(const analysis::Summary& summary, std::ostream& out, const std::string& status = "");

}  // namespace onebit::experiments
