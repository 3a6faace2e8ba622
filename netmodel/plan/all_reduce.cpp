// The algorithms of an all-reduce.

#include <algorithm>
#include <string>

#include "device/base/error.hpp"
#include "netmodel/plan/phases.hpp"

namespace onebit::netmodel {
namespace {

using Pattern = Phase::Pattern;

/// Visits the flows along the chain of each node, towards its first GPU or away from it.
void visit_chain(const Fabric& fabric, Bytes bytes, bool to_first, const FlowVisit& visit) {
  for (Index slot = 0; slot < fabric.ranks(); ++slot) {
    if (slot % fabric.width() == 0) continue;
    const Index from = to_first ? slot : slot - 1;
    visit(from, to_first ? slot - 1 : slot, bytes);
  }
}

/// The whole vector moves through each node's chain in pipelined pieces, to the first GPU or away from it.
Phase leader_chain(const Request& r, const Fabric& fabric, bool to_first) {
  Phase phase;
  phase.pattern = Pattern::list;
  phase.list = [bytes = r.payload, to_first](const Fabric& f, const FlowVisit& visit) {
    visit_chain(f, bytes, to_first, visit);
  };
  phase.latency = as_double(fabric.width() - 1) * hop(r, fabric, false);
  return phase;
}

/// The steps of a ring among the first GPUs of the nodes.
Phase leader_ring(const Request& r, const Fabric& fabric, Bytes piece) {
  Phase phase;
  phase.pattern = Pattern::list;
  phase.list = [=](const Fabric& f, const FlowVisit& visit) {
    const Index nodes = f.nodes(), width = f.width();
    for (Index node = 0; node < nodes; ++node) visit(node * width, (node + 1) % nodes * width, piece);
  };
  phase.repeat = fabric.nodes() - 1;
  phase.latency = hop(r, fabric, true);
  return phase;
}

/// Returns the parent of a node in the binary tree whose leaves are the odd nodes; -1 for the root, node 0. After
/// NCCL's trees.cc: clear the lowest set bit and set the next higher one; if that is beyond the last node, only clear
/// the bit.
Index tree_parent(Index node, Index nodes) {
  if (node == 0) return -1;
  const Index bit = node & -node;
  const Index parent = (node ^ bit) | (bit << 1);
  return parent < nodes ? parent : node ^ bit;
}

/// Calls visit(child, parent) for every edge of one of two binary trees over the nodes. The second tree is the first
/// one mirrored, or, for an odd number of nodes, shifted by one: leaves become inner nodes.
template <class Visit>
void visit_edges(Index nodes, bool second, const Visit& visit) {
  const auto place = [&](Index node) {
    if (!second) return node;
    return nodes % 2 == 0 ? nodes - 1 - node : (node + 1) % nodes;
  };
  for (Index node = 1; node < nodes; ++node) visit(place(node), place(tree_parent(node, nodes)));
}

/// Visits the flows of one tree: half of the vector goes up and down every edge, and both ways along the chain of every
/// node.
void visit_tree(const Fabric& fabric, Bytes half, bool second, const FlowVisit& visit) {
  const Index width = fabric.width(), gate = second ? width - 1 : 0;
  visit_edges(fabric.nodes(), second, [&](Index child, Index parent) {
    visit(child * width + gate, parent * width + gate, half);
    visit(parent * width + gate, child * width + gate, half);
  });
  visit_chain(fabric, half, true, visit);
  visit_chain(fabric, half, false, visit);
}

/// Depth of a binary tree over the nodes.
double tree_depth(const Fabric& fabric) {
  Index depth = 0;
  while ((Index{1} << depth) < fabric.nodes()) ++depth;
  return as_double(depth);
}

/// Visits the NVLS flows of the first GPU in every node. Every GPU exchanges its part of the vector with other nodes on
/// its rail. Within its node it moves `inside` bytes, less the bytes that it exchanges with other nodes, which do not
/// pass the switch.
void visit_nvls(const Fabric& fabric, Bytes vector, Bytes inside, const FlowVisit& visit) {
  const Index nodes = fabric.nodes(), width = fabric.width();
  const Bytes half = 0.5 / as_double(width) * vector;
  std::vector<Index> edges(static_cast<std::size_t>(nodes));  // number of neighbours of every node in both trees
  for (const bool second : {false, true}) {
    visit_edges(nodes, second, [&](Index child, Index parent) {
      ++edges[static_cast<std::size_t>(child)];
      ++edges[static_cast<std::size_t>(parent)];
      visit(child * width, parent * width, half);
      visit(parent * width, child * width, half);
    });
  }
  if (width == 1) return;
  for (Index node = 0; node < nodes; ++node) {
    const Bytes outside = as_double(edges[static_cast<std::size_t>(node)]) * half;
    if (outside < inside) visit(node * width, node * width + 1, inside - outside);
  }
}

/// The largest power of two that does not exceed the number of ranks, and the number of extra ranks. Each extra rank is
/// paired with one of the ranks 0 to extra-1.
struct PowerOfTwo {
  Index ranks = 1, extra = 0;
};

PowerOfTwo largest_power(Index ranks) {
  PowerOfTwo result;
  while (2 * result.ranks <= ranks) result.ranks *= 2;
  result.extra = ranks - result.ranks;
  return result;
}

/// Every rank exchanges with the rank whose number differs in one bit.
Phase exchange(const Request& r, const Fabric& fabric, Index distance, Index ranks, Bytes bytes) {
  Phase phase;
  phase.pattern = Pattern::list;
  phase.list = [=](const Fabric& f, const FlowVisit& visit) {
    for (Index rank = 0; rank < ranks; ++rank) visit(f.slot(rank), f.slot(rank ^ distance), bytes);
  };
  phase.latency = hop_of_flows(r, fabric, phase);
  return phase;
}

/// The extra ranks send their vectors before the exchanges (in), or receive the result after them.
Phase fold(const Request& r, const Fabric& fabric, const PowerOfTwo& power, bool in) {
  Phase phase;
  phase.pattern = Pattern::list;
  phase.list = [power, in, bytes = r.payload](const Fabric& f, const FlowVisit& visit) {
    for (Index rank = 0; rank < power.extra; ++rank) {
      const Index core = f.slot(rank), extra = f.slot(power.ranks + rank);
      in ? visit(extra, core, bytes) : visit(core, extra, bytes);
    }
  };
  phase.latency = hop_of_flows(r, fabric, phase);
  return phase;
}

}  // namespace

Phases ring_all_reduce(const Request& r, const Fabric& fabric) {
  const Phase pass = round_ring(r, fabric, r.scope, share(r, fabric));
  return {pass, pass};
}

Phases hierarchical(const Request& r, const Fabric& fabric) {
  const Bytes block = (1 / as_double(fabric.width())) * r.payload;
  const Bytes piece = (1 / as_double(fabric.nodes())) * block;
  const Phase inside = round_ring(r, fabric, Scope::local, block), between = round_ring(r, fabric, Scope::rail, piece);
  return {inside, between, between, inside};
}

Phases leader(const Request& r, const Fabric& fabric) {
  const Bytes piece = (1 / as_double(fabric.nodes())) * r.payload;
  const Phase between = leader_ring(r, fabric, piece);
  return {leader_chain(r, fabric, true), between, between, leader_chain(r, fabric, false)};
}

/// Pieces are pipelined through the trees, so that all edges are always busy.
Phases double_tree(const Request& r, const Fabric& fabric) {
  const CallCosts call = call_costs(r, fabric);
  Phase phase;
  phase.pattern = Pattern::list;
  phase.list = [half = 0.5 * r.payload](const Fabric& f, const FlowVisit& visit) {
    for (const bool second : {false, true}) visit_tree(f, half, second, visit);
  };
  phase.latency = 2 * (as_double(fabric.width() - 1) * call.gpu_hop + tree_depth(fabric) * call.network_hop);
  phase.link_efficiency = kTreeShare;
  phase.longest_fill = longest_fill(r.payload);
  return {phase};
}

Phases nvls(const Request& r, const Fabric& fabric) {
  const Cluster& cluster = fabric.cluster();
  if (cluster.nvls == 0) {
    throw ConfigError("the GPUs' switch cannot add up vectors", "cluster " + cluster.name,
                      "choose another --cluster.all-reduce, or GPUs with NVLink SHARP: --cluster.gpu-link nvlink4");
  }
  const CallCosts call = call_costs(r, fabric);
  const Bytes inside = 1 / (cluster.nvls * (fabric.nodes() > 1 ? kTreeShare : 1)) * r.payload;
  Phase phase;
  phase.pattern = Pattern::list;
  phase.scope = Scope::rail;
  phase.list = [vector = r.payload, inside](const Fabric& f, const FlowVisit& visit) {
    visit_nvls(f, vector, inside, visit);
  };
  phase.latency = call.gpu_hop + 2 * tree_depth(fabric) * call.network_hop;
  phase.longest_fill = longest_fill(r.payload);
  return {phase};
}

Phases halving(const Request& r, const Fabric& fabric) {
  const PowerOfTwo power = largest_power(fabric.ranks());
  Phases phases;
  if (power.extra > 0) phases.push_back(fold(r, fabric, power, true));
  Bytes bytes = r.payload;
  for (Index distance = 1; distance < power.ranks; distance *= 2) {
    bytes = 0.5 * bytes;
    phases.push_back(exchange(r, fabric, distance, power.ranks, bytes));
  }
  for (Index distance = power.ranks / 2; distance >= 1; distance /= 2, bytes = 2 * bytes) {
    phases.push_back(exchange(r, fabric, distance, power.ranks, bytes));
  }
  if (power.extra > 0) phases.push_back(fold(r, fabric, power, false));
  return phases;
}

}  // namespace onebit::netmodel
