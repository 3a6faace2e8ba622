#pragma once
// What an estimate of the network model costs.

#include <string>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::experiments {

struct PricingRow {
  std::string what;
  double seconds = 0;  ///< median of one
};

/// Steps of BERT-Large, dense and 1-bit, on 64 and 4,096 GPUs with every cost model that is quick enough, and a job of
/// 10,000 different steps on 20 clusters. Medians over rounds.
std::vector<PricingRow> bench_pricing(Index rounds);

}  // namespace onebit::experiments
