#include "netmodel/plan/plan.hpp"

#include <algorithm>

#include "device/base/error.hpp"

namespace onebit::netmodel {
namespace {

using Phases = std::vector<Phase>;
using Pattern = Phase::Pattern;

double as_double(Index value) {
  return static_cast<double>(value);
}

bool crosses(const Fabric& fabric, Scope scope) {
  return scope != Scope::local && fabric.nodes() > 1;
}

/// Returns a phase with one latency: the network's if the scope leaves a node, else that of the GPUs' links.
Phase step(const Fabric& fabric, Scope scope) {
  Phase phase;
  phase.scope = scope;
  (crosses(fabric, scope) ? phase.network_hops : phase.gpu_hops) = 1;
  return phase;
}

/// Every rank sends a block of this size to the next rank, n - 1 times.
Phase round_ring(const Fabric& fabric, Scope scope, Bytes block, bool reduces) {
  Phase phase = step(fabric, scope);
  phase.bytes = block;
  phase.repeat = members(fabric, scope) - 1;
  if (reduces) phase.reduced = block;
  return phase;
}

Bytes share(const Request& request, const Fabric& fabric) {
  return (1 / as_double(members(fabric, request.scope))) * request.payload;
}

Phases ring_all_reduce(const Request& r, const Fabric& fabric) {
  const Bytes block = share(r, fabric);
  return {round_ring(fabric, r.scope, block, true), round_ring(fabric, r.scope, block, false)};
}

Phases ring_reduce_scatter(const Request& r, const Fabric& fabric) {
  return {round_ring(fabric, r.scope, share(r, fabric), true)};
}

Phases ring_all_gather(const Request& r, const Fabric& fabric) {
  return {round_ring(fabric, r.scope, r.payload, false)};
}

Phases hierarchical(const Request& r, const Fabric& fabric) {
  const Bytes block = (1 / as_double(fabric.width())) * r.payload;
  const Bytes piece = (1 / as_double(fabric.nodes())) * block;
  return {round_ring(fabric, Scope::local, block, true), round_ring(fabric, Scope::rail, piece, true),
          round_ring(fabric, Scope::rail, piece, false), round_ring(fabric, Scope::local, block, false)};
}

/// Visits the flows along the chain of each node, towards its first GPU or away from it.
void visit_chain(const Fabric& fabric, Bytes bytes, bool to_first, const FlowVisit& visit) {
  for (Index slot = 0; slot < fabric.ranks(); ++slot) {
    if (slot % fabric.width() == 0) continue;
    const Index from = to_first ? slot : slot - 1;
    visit(from, to_first ? slot - 1 : slot, bytes);
  }
}

/// The whole vector moves through each node's chain in pipelined pieces. When reducing, every GPU adds its own values.
Phase leader_chain(const Fabric& fabric, Bytes bytes, bool reduces) {
  Phase phase;
  phase.pattern = Pattern::list;
  phase.list = [=](const Fabric& f, const FlowVisit& visit) { visit_chain(f, bytes, reduces, visit); };
  phase.gpu_hops = as_double(fabric.width() - 1);
  if (reduces && fabric.width() > 1) phase.reduced = bytes;
  return phase;
}

/// The steps of a ring among the first GPUs of the nodes.
Phase leader_ring(const Fabric& fabric, Bytes piece, bool reduces) {
  Phase phase;
  phase.pattern = Pattern::list;
  phase.list = [=](const Fabric& f, const FlowVisit& visit) {
    const Index nodes = f.nodes(), width = f.width();
    for (Index node = 0; node < nodes; ++node) visit(node * width, (node + 1) % nodes * width, piece);
  };
  phase.repeat = fabric.nodes() - 1;
  phase.network_hops = 1;
  if (reduces) phase.reduced = piece;
  return phase;
}

Phases leader(const Request& r, const Fabric& fabric) {
  const Bytes piece = (1 / as_double(fabric.nodes())) * r.payload;
  return {leader_chain(fabric, r.payload, true), leader_ring(fabric, piece, true), leader_ring(fabric, piece, false),
          leader_chain(fabric, r.payload, false)};
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

/// Visits the flows of one tree: half of the vector up and down every edge, and along the chain of every node.
void visit_tree(const Fabric& fabric, Bytes half, bool second, const FlowVisit& visit) {
  const Index nodes = fabric.nodes(), width = fabric.width();
  // The second tree is the first one mirrored, or, for an odd number of nodes, shifted by one: leaves become inner
  // nodes.
  const auto place = [&](Index node) {
    if (!second) return node;
    return nodes % 2 == 0 ? nodes - 1 - node : (node + 1) % nodes;
  };
  const Index gate = second ? width - 1 : 0;
  for (Index node = 1; node < nodes; ++node) {
    const Index child = place(node) * width + gate, parent = place(tree_parent(node, nodes)) * width + gate;
    visit(child, parent, half);
    visit(parent, child, half);
  }
  visit_chain(fabric, half, true, visit);
  visit_chain(fabric, half, false, visit);
}

/// Pieces are pipelined through the trees, so that all edges are always busy; NCCL reaches 92% of the links' rates.
Phases double_tree(const Request& r, const Fabric& fabric) {
  Phase phase;
  phase.pattern = Pattern::list;
  phase.list = [half = 0.5 * r.payload](const Fabric& f, const FlowVisit& visit) {
    for (const bool second : {false, true}) visit_tree(f, half, second, visit);
  };
  Index depth = 0;
  while ((Index{1} << depth) < fabric.nodes()) ++depth;
  phase.gpu_hops = 2 * as_double(fabric.width() - 1);
  phase.network_hops = 2 * as_double(depth);
  phase.reduced = r.payload;
  phase.link_efficiency = 0.92;
  return {phase};
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
Phase exchange(const Fabric& fabric, Index distance, Index ranks, Bytes bytes) {
  Phase phase;
  phase.pattern = Pattern::list;
  phase.list = [=](const Fabric& f, const FlowVisit& visit) {
    for (Index rank = 0; rank < ranks; ++rank) visit(f.slot(rank), f.slot(rank ^ distance), bytes);
  };
  bool leaves_node = false;
  phase.list(fabric,
             [&](Index from, Index to, Bytes) { leaves_node = leaves_node || fabric.node(from) != fabric.node(to); });
  (leaves_node ? phase.network_hops : phase.gpu_hops) = 1;
  return phase;
}

/// The extra ranks send their vectors before the exchanges (in), or receive the result after them.
Phase fold(const Fabric& fabric, const PowerOfTwo& power, Bytes bytes, bool in) {
  Phase phase = step(fabric, Scope::all);
  phase.pattern = Pattern::list;
  phase.list = [=](const Fabric& f, const FlowVisit& visit) {
    for (Index rank = 0; rank < power.extra; ++rank) {
      const Index core = f.slot(rank), extra = f.slot(power.ranks + rank);
      in ? visit(extra, core, bytes) : visit(core, extra, bytes);
    }
  };
  if (in) phase.reduced = bytes;
  return phase;
}

Phases halving(const Request& r, const Fabric& fabric) {
  const PowerOfTwo power = largest_power(fabric.ranks());
  Phases phases;
  if (power.extra > 0) phases.push_back(fold(fabric, power, r.payload, true));
  Bytes bytes = r.payload;
  for (Index distance = 1; distance < power.ranks; distance *= 2) {
    bytes = 0.5 * bytes;
    phases.push_back(exchange(fabric, distance, power.ranks, bytes));
    phases.back().reduced = bytes;
  }
  for (Index distance = power.ranks / 2; distance >= 1; distance /= 2, bytes = 2 * bytes) {
    phases.push_back(exchange(fabric, distance, power.ranks, bytes));
  }
  if (power.extra > 0) phases.push_back(fold(fabric, power, r.payload, false));
  return phases;
}

Phases pairwise(const Request& r, const Fabric& fabric) {
  Phases phases;
  for (Index shift = 1; shift < members(fabric, r.scope); ++shift) {
    phases.push_back(step(fabric, r.scope));
    phases.back().shift = shift;
    phases.back().bytes = share(r, fabric);
  }
  return phases;
}

Phases all_at_once(const Fabric& fabric, Scope scope, Bytes bytes) {
  Phase phase = step(fabric, scope);
  phase.pattern = Pattern::pairs;
  phase.bytes = bytes;
  return {phase};
}

Phases burst(const Request& r, const Fabric& fabric) {
  return all_at_once(fabric, r.scope, share(r, fabric));
}

Phases direct_all_gather(const Request& r, const Fabric& fabric) {
  return all_at_once(fabric, r.scope, r.payload);
}

Phases incast(const Request& r, const Fabric& fabric) {
  Phases phases;
  for (Index root = 0; root < members(fabric, r.scope); ++root) {
    phases.push_back(step(fabric, r.scope));
    phases.back().pattern = Pattern::fan_in;
    phases.back().shift = root;
    phases.back().bytes = share(r, fabric);
  }
  return phases;
}

/// The vector moves from rank to rank in pipelined pieces.
Phases chain(const Request& r, const Fabric& fabric) {
  Phase phase;
  phase.pattern = Pattern::list;
  phase.list = [bytes = r.payload](const Fabric& f, const FlowVisit& visit) {
    for (Index rank = 0; rank + 1 < f.ranks(); ++rank) visit(f.slot(rank), f.slot(rank + 1), bytes);
  };
  phase.list(fabric, [&](Index from, Index to, Bytes) {
    (fabric.node(from) == fabric.node(to) ? phase.gpu_hops : phase.network_hops) += 1;
  });
  return {phase};
}

/// Plans the way up, to the root. The way down reverses all flows, which takes the same time on full-duplex links.
Phases binomial(const Request& r, const Fabric& fabric) {
  Phases phases;
  for (Index distance = 1; distance < fabric.ranks(); distance *= 2) {
    Phase phase = step(fabric, Scope::all);
    phase.pattern = Pattern::list;
    phase.list = [distance, bytes = r.payload](const Fabric& f, const FlowVisit& visit) {
      for (Index rank = distance; rank < f.ranks(); rank += 2 * distance)
        visit(f.slot(rank), f.slot(rank - distance), bytes);
    };
    phases.push_back(phase);
  }
  return phases;
}

Phases neighbours(const Request& r, const Fabric& fabric) {
  Phase phase = step(fabric, r.scope);
  phase.pattern = Pattern::list;
  phase.list = [bytes = r.payload](const Fabric& f, const FlowVisit& visit) {
    const Index n = f.ranks();
    for (Index rank = 0; rank < n; ++rank) {
      for (const Index other : {(rank + 1) % n, (rank + n - 1) % n}) visit(f.slot(rank), f.slot(other), bytes);
    }
  };
  return {phase};
}

}  // namespace

const std::vector<AlgorithmEntry>& algorithms() {
  static const std::vector<AlgorithmEntry> table = {
      {Collective::all_reduce, Algorithm::ring, "reduce-scatter and all-gather around all ranks", ring_all_reduce,
       true},
      {Collective::all_reduce, Algorithm::hierarchical,
       "reduce-scatter in the node, ring on every rail, all-gather in the node", hierarchical},
      {Collective::all_reduce, Algorithm::tree, "two pipelined binary trees, each with half the vector", double_tree},
      {Collective::all_reduce, Algorithm::halving, "recursive halving and doubling", halving},
      {Collective::all_reduce, Algorithm::leader, "reduce to one GPU per node, ring among these GPUs, broadcast",
       leader},
      {Collective::all_to_all, Algorithm::burst, "everything at once", burst, true},
      {Collective::all_to_all, Algorithm::pairwise, "in rounds, one partner each", pairwise, true},
      {Collective::all_gather, Algorithm::ring, "blocks pass around the ring", ring_all_gather, true},
      {Collective::all_gather, Algorithm::direct, "every block directly to all ranks, at once", direct_all_gather,
       true},
      {Collective::tree, Algorithm::binomial, "in ceil(log2 N) rounds", binomial},
      {Collective::reduce_scatter, Algorithm::ring, "blocks pass around the ring", ring_reduce_scatter, true},
      {Collective::gather, Algorithm::pairwise, "in rounds, each server receives from one worker", pairwise, true},
      {Collective::gather, Algorithm::incast, "one server after the other receives from all workers at once", incast},
      {Collective::broadcast, Algorithm::chain, "pipelined from rank to rank", chain},
      {Collective::neighbour, Algorithm::ring, "both ways at once", neighbours},
  };
  return table;
}

Index members(const Fabric& fabric, Scope scope) {
  switch (scope) {
    case Scope::all:
      return fabric.ranks();
    case Scope::local:
      return fabric.width();
    case Scope::rail:
      return fabric.nodes();
  }
  return 0;
}

void check_flows(Index count, std::string_view model) {
  if (count <= kMostFlows) return;
  throw ConfigError("more than 4,194,304 flows at the same time", "cost model " + std::string(model),
                    "use fewer workers, or --cost-model link-load");
}

Plan plan(const Request& request, const Fabric& fabric) {
  if (!(request.payload.value >= 0)) throw ConfigError("an exchange has a negative payload", "");
  const auto& table = algorithms();
  const auto found = std::find_if(table.begin(), table.end(), [&](const AlgorithmEntry& entry) {
    return entry.collective == request.collective && entry.algorithm == request.algorithm;
  });
  if (found == table.end()) {
    throw ConfigError(
        "no " + std::string(name(request.algorithm)) + " algorithm for " + std::string(name(request.collective)), "");
  }
  if (request.scope != Scope::all && !found->scoped) {
    throw ConfigError("the " + std::string(name(request.algorithm)) + " algorithm works only among all ranks", "");
  }
  if (members(fabric, request.scope) == 1) return {request, {}};  // nothing crosses a wire
  return {request, found->phases(request, fabric)};
}

std::string_view name(Algorithm algorithm) {
  constexpr std::string_view names[] = {"ring",  "hierarchical", "tree",   "halving", "leader",  "pairwise",
                                        "burst", "direct",       "incast", "chain",   "binomial"};
  return names[static_cast<std::size_t>(algorithm)];
}

}  // namespace onebit::netmodel
