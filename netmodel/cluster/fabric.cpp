#include "netmodel/cluster/fabric.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "device/base/error.hpp"

namespace onebit::netmodel {
namespace {

Index nodes_for(const Cluster& cluster, Index ranks, Index width) {
  const std::string where = "cluster " + cluster.name;
  if (ranks % width != 0) {
    throw ConfigError(std::to_string(ranks) + " workers do not fill nodes of " + std::to_string(width) + " GPUs", where,
                      "change the number of workers or --cluster.gpus-per-node");
  }
  if (cluster.nodes > 0 && cluster.nodes * cluster.gpus_per_node != ranks) {
    throw ConfigError(std::to_string(ranks) + " workers do not match " + std::to_string(cluster.nodes) + " nodes of " +
                          std::to_string(cluster.gpus_per_node) + " GPUs",
                      where, "every GPU runs one worker: change --cluster.nodes, or leave it out");
  }
  return ranks / width;
}

/// Fisher-Yates shuffle, with a generator that gives the same numbers everywhere.
std::vector<Index> shuffled(Index count) {
  std::vector<Index> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), Index{0});
  std::mt19937_64 random(1);
  for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[random() % left]);
  return order;
}

std::vector<Index> placed(Placement placement, Index nodes, Index width) {
  if (placement == Placement::contiguous || nodes == 1) return {};
  if (placement == Placement::random) return shuffled(nodes * width);
  std::vector<Index> slots;
  for (Index rank = 0; rank < nodes * width; ++rank) slots.push_back(rank % nodes * width + rank / nodes);
  return slots;
}

BytesPerSecond capped(BytesPerSecond rate, BytesPerSecond stream_cap, Index streams) {
  return stream_cap.value > 0 ? std::min(rate, static_cast<double>(streams) * stream_cap) : rate;
}

}  // namespace

Index network_links(const Cluster& cluster, Index width) {
  return cluster.gpus_per_nic == 0 ? 1 : (width + cluster.gpus_per_nic - 1) / cluster.gpus_per_nic;
}

void check_workers(const Cluster& cluster, Index workers) {
  if (workers < 1)
    throw ConfigError("a job needs at least 1 worker, not " + std::to_string(workers), "cluster " + cluster.name);
  if (workers > kMostWorkers) {
    throw ConfigError("a job of " + std::to_string(workers) + " workers is too large", "cluster " + cluster.name,
                      "at most 1,048,576 workers, because pricing counts what each of them sends");
  }
}

Fabric::Fabric(const Cluster& cluster, Index ranks) : cluster_(cluster) {
  check(cluster);
  check_workers(cluster, ranks);
  gpu_ = &find_gpu(cluster.gpu);
  width_ = std::min(ranks, cluster.gpus_per_node);
  nodes_ = nodes_for(cluster, ranks, width_);
  slots_ = placed(cluster.placement, nodes_, width_);
  if (!cluster.nic_shares.empty()) shares_.assign(static_cast<std::size_t>(nodes_), 1.0);
  for (const NodeFactor& share : cluster.nic_shares) {
    if (share.node < nodes_) shares_[static_cast<std::size_t>(share.node)] = share.factor;
  }
  const double penalty = 1 + cluster.nic.scale_penalty * std::log2(static_cast<double>(nodes_));
  const auto links = static_cast<double>(network_links(cluster, width_));
  nic_ = (links / penalty) * cluster.nic.effective;
  nominal_nic_ = links * cluster.nic.nominal;
  leaf_ = static_cast<double>(cluster.nodes_per_leaf) / cluster.oversubscription * nic_;
  const bool limits = cluster.oversubscription > 1 && nodes_ > cluster.nodes_per_leaf;
  if (limits) leaves_ = (nodes_ + cluster.nodes_per_leaf - 1) / cluster.nodes_per_leaf;
}

BytesPerSecond Fabric::gpu_rate(Index streams) const {
  return capped(cluster_.gpu_link.effective, cluster_.gpu_link.stream_cap, streams);
}

BytesPerSecond Fabric::nic_rate(Index node, Index streams) const {
  const double share = shares_.empty() ? 1 : shares_[static_cast<std::size_t>(node)];
  return capped(share * nic_, cluster_.nic.stream_cap, streams);
}

}  // namespace onebit::netmodel
