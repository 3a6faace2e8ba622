#pragma once
// The table of `price --optimizers`, and its answer in words.

#include <iosfwd>

#include "analysis/pricing/ranking.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Says in words whether compression pays. It pays if the best method that exchanges in every step is more than 5%
/// faster than dense Adam and, within the cluster's uncertainty, never slower. It does not pay if that method is always
/// slower.
std::string answer_of(const analysis::Ranking& ranking);

void print_ranking(const analysis::Ranking& ranking, std::ostream& out);
Json to_json(const analysis::Ranking& ranking);

}  // namespace onebit::experiments
