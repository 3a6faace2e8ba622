#pragma once
// The stages of a step with embedding tables, as text and as JSON.

#include <iosfwd>

#include "analysis/pricing/job_price.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Returns a text such as ", dct-mp, tables /20, gradients /100": the codec of the embeddings of a workload with
/// tables, and by how much exchanges are smaller than they would be. Empty if they are not changed.
std::string boundary_text(bool tables, const analysis::HybridRules& rules);

/// Returns a text such as "adam, dct-mp": an optimizer, and what boundary_text adds.
std::string method_text(const std::string& optimizer, const netmodel::Workload& workload,
                        const analysis::HybridRules& rules);
std::string method_text(const analysis::Job& job);

/// Prints the stages of the last stage's step, which of them are on its critical path, and the shares of its exchanges
/// and of dense Adam's. price.hybrid and price.dense_hybrid must be set.
void print_hybrid(const analysis::ClusterPrice& price, const analysis::Job& job, std::ostream& out);

/// Returns the members that a price with tables has in addition.
Json hybrid_json(const netmodel::HybridEstimate& hybrid);
std::string_view name(netmodel::TableSplit split);

}  // namespace onebit::experiments
