#pragma once
// The stages of a step with embedding tables, as text and as JSON.

#include <iosfwd>

#include "analysis/pricing/job_price.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Returns a text such as ", dct-mp, tables /20, gradients /100": the codec of the embeddings of a workload with
/// tables, and the factors by which exchanges become smaller. Empty if nothing is changed.
std::string boundary_text(bool tables, const analysis::HybridRules& rules);

/// Returns a text such as "adam, dct-mp": the name of an optimizer, followed by the result of boundary_text.
std::string method_text(const std::string& optimizer, const netmodel::Workload& workload,
                        const analysis::HybridRules& rules);
std::string method_text(const analysis::Job& job);

/// For one step of the optimizer's last phase, prints the parts of the step, says which of them are on the critical
/// path, and shows what shares of this step and of a dense Adam step are spent waiting for exchanges. price.hybrid and
/// price.dense_hybrid must be set.
void print_hybrid(const analysis::ClusterPrice& price, const analysis::Job& job, std::ostream& out);

/// Returns the additional members of the price of a workload with embedding tables.
Json hybrid_json(const netmodel::HybridEstimate& hybrid);
std::string_view name(netmodel::TableSplit split);

}  // namespace onebit::experiments
