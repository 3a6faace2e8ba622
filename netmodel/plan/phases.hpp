#pragma once
// Phases that plans share. For the planners in this folder.

#include <vector>

#include "netmodel/plan/nccl.hpp"
#include "netmodel/plan/plan.hpp"

namespace onebit::netmodel {

using Phases = std::vector<Phase>;

inline double as_double(Index value) {
  return static_cast<double>(value);
}

/// Returns the latency of one step: the network's if it leaves a node, otherwise that of the GPUs' links.
Seconds hop(const Request& request, const Fabric& fabric, bool leaves_node);

/// Returns the latency of one step of a phase whose flows are listed: the latency of the network if any of these flows
/// leaves its node (otherwise that of the link inside the node).
Seconds hop_of_flows(const Request& request, const Fabric& fabric, const Phase& phase);

/// Returns a phase that takes one step's latency.
Phase step(const Request& request, const Fabric& fabric, Scope scope);

/// Returns a phase in which every one of n ranks sends a block of this size to the next rank, n - 1 times. A block
/// travels along every connection of the ring except one. The connection that is left out is taken to be one between
/// nodes, if there is any.
Phase round_ring(const Request& request, const Fabric& fabric, Scope scope, Bytes block);

/// Returns the payload divided by the number of ranks that exchange with each other.
Bytes share(const Request& request, const Fabric& fabric);

Phases ring_all_reduce(const Request& request, const Fabric& fabric);
Phases hierarchical(const Request& request, const Fabric& fabric);
Phases double_tree(const Request& request, const Fabric& fabric);
Phases halving(const Request& request, const Fabric& fabric);
Phases leader(const Request& request, const Fabric& fabric);
Phases nvls(const Request& request, const Fabric& fabric);

}  // namespace onebit::netmodel
