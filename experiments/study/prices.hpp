#pragma once
// The options of pricing as objects: their clusters, workload and cost model are loaded.

#include <memory>
#include <vector>

#include "analysis/log/timeline.hpp"
#include "experiments/options/price_options.hpp"

namespace onebit::experiments {

/// Clusters on which runs are priced, and the rules.
struct Prices {
  std::vector<netmodel::Cluster> clusters;
  std::unique_ptr<netmodel::CostModel> model;
  analysis::PriceRules rules;
};

/// Loads what a configuration names, reading its files. Throws ConfigError.
Prices prices_of(const PriceConfig& config);

/// Loads the clusters of a configuration. Throws ConfigError.
std::vector<netmodel::Cluster> clusters_of(const PriceConfig& config);

/// Returns the rules of pricing. gradient_bytes: bytes per element in a dense all-reduce, unless the options set them.
/// Throws what load_workload throws.
analysis::PriceRules rules_of(const PriceConfig& config, double gradient_bytes = sizeof(float));

}  // namespace onebit::experiments
