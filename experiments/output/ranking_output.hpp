#pragma once
// The table of `price --optimizers`, and its answer in words.

#include <iosfwd>

#include "analysis/pricing/ranking.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Says in words whether compression pays: only if it does within all of the cluster's uncertainty, or not at all.
std::string answer_of(const analysis::Ranking& ranking);

void print_ranking(const analysis::Ranking& ranking, std::ostream& out);
Json to_json(const analysis::Ranking& ranking);

}  // namespace onebit::experiments
