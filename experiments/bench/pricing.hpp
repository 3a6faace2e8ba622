#pragma once
// Measures the running time of the network model's estimates.

#include <string>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::experiments {

struct PricingRow {
  std::string what;
  double seconds = 0;  ///< median time of one estimate
};

/// Measures estimates of BERT-Large's steps, dense and 1-bit, on 64 and 4,096 GPUs with every cost model that is fast
/// enough, and of a job of 10,000 different steps on 20 clusters. Medians over rounds.
std::vector<PricingRow> bench_pricing(Index rounds);

}  // namespace onebit::experiments
