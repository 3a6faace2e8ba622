#include "experiments/study/prices.hpp"

#include <set>

#include "device/base/error.hpp"
#include "experiments/options/cluster_files.hpp"

namespace onebit::experiments {

std::vector<netmodel::Cluster> clusters_of(const PriceConfig& config) {
  std::vector<netmodel::Cluster> clusters;
  for (const std::string& name : config.clusters) clusters.push_back(load_cluster(name, config.cluster_settings));
  return clusters;
}

Prices prices_of(const PriceConfig& config) {
  Prices prices{clusters_of(config), netmodel::make_cost_model(config.cost_model), rules_of(config)};
  std::set<std::string> names;
  for (const netmodel::Cluster& cluster : prices.clusters) {
    if (!names.insert(cluster.name).second)
      throw ConfigError("duplicate cluster name", cluster.name,
                        "give each cluster its own name; output files are named after it");
  }
  return prices;
}

analysis::PriceRules rules_of(const PriceConfig& config, double gradient_bytes) {
  analysis::PriceRules rules{.forward = config.forward,
                             .backward = config.backward,
                             .optimizer = config.optimizer,
                             .step = config.step,
                             .hybrid = config.hybrid};
  if (!config.workload.empty()) rules.workload = load_workload(config.workload);
  rules.step.gradient_bytes = config.gradient_bytes > 0 ? config.gradient_bytes : gradient_bytes;
  return rules;
}

}  // namespace onebit::experiments
