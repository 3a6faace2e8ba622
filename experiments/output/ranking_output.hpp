#pragma once
// The table of `price --optimizers`, and its answer in words.

#include <iosfwd>

#include "analysis/pricing/ranking.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Says in words whether compression pays: the best method's speed-up is at least 1 within all of the cluster's
/// uncertainty and above 1.05 somewhere; it does not if it is below 1 everywhere.
std::string answer_of(const analysis::Ranking& ranking);

void print_ranking(const analysis::Ranking& ranking, std::ostream& out);
Json to_json(const analysis::Ranking& ranking);

}  // namespace onebit::experiments
