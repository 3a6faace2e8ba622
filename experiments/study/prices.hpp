#pragma once
// The objects that pricing options name: loaded clusters, workload and cost model.

#include <memory>
#include <vector>

#include "analysis/log/timeline.hpp"
#include "experiments/options/price_options.hpp"

namespace onebit::experiments {

/// What runs are priced with: clusters, a cost model and rules.
struct Prices {
  std::vector<netmodel::Cluster> clusters;
  std::unique_ptr<netmodel::CostModel> model;
  analysis::PriceRules rules;
};

/// Loads everything that a configuration names. Throws ConfigError.
Prices prices_of(const PriceConfig& config);

/// Loads the clusters of a configuration. Throws ConfigError.
std::vector<netmodel::Cluster> clusters_of(const PriceConfig& config);

/// Returns the pricing rules. gradient_bytes: bytes per element in a dense all-reduce, unless the options set them.
/// Throws whatever load_workload throws.
analysis::PriceRules rules_of(const PriceConfig& config, double gradient_bytes = sizeof(float));

}  // namespace onebit::experiments
