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

/// Measures how long it takes to estimate: dense and 1-bit steps of BERT-Large on 64 and 4,096 GPUs with the cost
/// models link-load and closed-form; a 1-bit step with the cost model fluid; a 1-bit step with a pairwise all-to-all;
/// and a job of 10,000 different steps, priced 20 times. Returns medians over rounds; the job is timed once.
std::vector<PricingRow> bench_pricing(Index rounds);

}  // namespace onebit::experiments
