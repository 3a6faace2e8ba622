#pragma once
// Clusters and costs that tests of the network model share.

#include "netmodel/plan/selector.hpp"

namespace onebit::tests {

using namespace netmodel;

/// Returns a cluster with round numbers: an effective 1 GB/s of a nominal 2 on the network, 10 GB/s of 20 in a node,
/// half of that for sums by the switch.
inline Cluster round_cluster(Index gpus_per_node = 1) {
  Cluster cluster;
  cluster.name = "round";
  cluster.gpus_per_node = gpus_per_node;
  cluster.nic = {.nominal = BytesPerSecond(2e9), .effective = BytesPerSecond(1e9), .latency = Seconds(1e-3)};
  cluster.gpu_link = {.nominal = BytesPerSecond(2e10), .effective = BytesPerSecond(1e10), .latency = Seconds(1e-4)};
  cluster.nvls = 0.5;
  return cluster;
}

inline Estimate cost(const CostModel& model, const Cluster& cluster, Index ranks, const Request& request) {
  const Fabric fabric(cluster, ranks);
  return model.cost(plan(request, fabric), fabric);
}

inline Request request(Collective collective, Algorithm algorithm, double payload, Scope scope = Scope::all) {
  return {collective, scope, algorithm, Bytes(payload)};
}

}  // namespace onebit::tests
