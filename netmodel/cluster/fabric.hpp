#pragma once
// A cluster with the ranks of one job on it: which GPU every rank has, and what each link gives.

#include "netmodel/cluster/cluster.hpp"

namespace onebit::netmodel {

/// Slots number the GPUs node by node. A job smaller than a node takes a part of one.
class Fabric {
 public:
  /// Throws ConfigError where the cluster is none (check), or the ranks do not fill its nodes.
  Fabric(const Cluster& cluster, Index ranks);

  const Cluster& cluster() const { return cluster_; }
  Index ranks() const { return nodes_ * width_; }
  Index nodes() const { return nodes_; }
  Index width() const { return width_; }  ///< GPUs of a node that take part
  Index slot(Index rank) const { return slots_.empty() ? rank : slots_[static_cast<std::size_t>(rank)]; }
  Index node(Index slot) const { return slot / width_; }

  /// Whether all nodes are alike and ranks lie on them in their order: what closed forms hold for.
  bool symmetric() const { return slots_.empty() && shares_.empty(); }

  /// Rates of links that carry so many streams at a time.
  BytesPerSecond gpu_rate(Index streams) const;
  BytesPerSecond nic_rate(Index node, Index streams) const;
  BytesPerSecond core_rate() const { return core_; }  ///< of the network between the nodes

  double seconds_per_reduced_byte() const { return gamma_; }

 private:
  Cluster cluster_;
  Index nodes_, width_;
  std::vector<Index> slots_;    ///< by rank; empty: the same number
  std::vector<double> shares_;  ///< of every node's NIC; empty: all of it
  BytesPerSecond nic_, core_;
  double gamma_;
};

}  // namespace onebit::netmodel
