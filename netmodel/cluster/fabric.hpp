#pragma once
// A cluster with the ranks of one job on it: the GPU of every rank, and the rate of each link.

#include "netmodel/cluster/cluster.hpp"

namespace onebit::netmodel {

/// Largest number of workers of a job. It is limited because pricing counts what each worker sends.
inline constexpr Index kMostWorkers = Index{1} << 20;

/// Throws ConfigError unless the number of workers is from 1 to kMostWorkers. cluster: for the message.
void check_workers(const Cluster& cluster, Index workers);

/// Returns the number of network links that `width` GPUs of a node use.
Index network_links(const Cluster& cluster, Index width);

/// The GPUs of a job; slots are their numbers, node by node. A job smaller than a node uses a part of one node.
class Fabric {
 public:
  /// Throws ConfigError if the cluster is invalid (check), or if there are too many ranks or they do not fill its
  /// nodes.
  Fabric(const Cluster& cluster, Index ranks);

  const Cluster& cluster() const { return cluster_; }
  const Gpu& gpu() const { return *gpu_; }
  Index ranks() const { return nodes_ * width_; }
  Index nodes() const { return nodes_; }
  Index width() const { return width_; }  ///< number of GPUs per node that the job uses
  Index slot(Index rank) const { return slots_.empty() ? rank : slots_[static_cast<std::size_t>(rank)]; }
  Index node(Index slot) const { return slot / width_; }

  /// Whether the cluster places ranks contiguously, or there is only one node.
  bool in_order() const { return slots_.empty(); }
  /// Whether in_order() holds and every node's network link has its full rate (Cluster::nic_shares), as closed forms
  /// require.
  bool symmetric() const { return in_order() && shares_.empty(); }

  /// Rate of a link that carries `streams` streams at a time.
  BytesPerSecond gpu_rate(Index streams) const;
  BytesPerSecond nic_rate(Index node, Index streams) const;
  BytesPerSecond nominal_nic_rate() const { return nominal_nic_; }  ///< line rate of a node's network links

  /// Number of leaf switches whose uplinks are slower than all of their nodes together; 0: uplinks are never the
  /// bottleneck.
  Index leaves() const { return leaves_; }
  Index leaf(Index node) const { return node / cluster_.nodes_per_leaf; }
  BytesPerSecond leaf_rate() const { return leaf_; }  ///< rate of a leaf's uplinks, one way

 private:
  Cluster cluster_;
  const Gpu* gpu_;
  Index nodes_, width_;
  std::vector<Index> slots_;    ///< slot of each rank; empty: the rank's own number
  std::vector<double> shares_;  ///< share of the full rate that each node's NIC has; empty: 1 for all
  BytesPerSecond nic_, nominal_nic_, leaf_;
  Index leaves_ = 0;
};

}  // namespace onebit::netmodel
