#include "netmodel/plan/plan.hpp"

#include <algorithm>
#include <cmath>

#include "device/base/error.hpp"
#include "netmodel/plan/phases.hpp"

namespace onebit::netmodel {
namespace {

using Pattern = Phase::Pattern;

Phases ring_reduce_scatter(const Request& r, const Fabric& fabric) {
  return {round_ring(r, fabric, r.scope, share(r, fabric))};
}

Phases ring_all_gather(const Request& r, const Fabric& fabric) {
  return {round_ring(r, fabric, r.scope, r.payload)};
}

/// Sets a phase's flows: unequal blocks, which every rank sends to the ranks `first` to `last` places after it.
void send_blocks(const Request& r, Index first, Index last, Phase& phase) {
  phase.pattern = Pattern::list;
  phase.list = [blocks = r.blocks, by_receiver = r.by_receiver, first, last](const Fabric& f, const FlowVisit& visit) {
    const Index n = f.ranks();
    for (Index from = 0; from < n; ++from) {
      for (Index shift = first; shift <= last; ++shift) {
        const Index to = (from + shift) % n;
        visit(f.slot(from), f.slot(to), blocks[static_cast<std::size_t>(by_receiver ? to : from)]);
      }
    }
  };
}

Phases pairwise(const Request& r, const Fabric& fabric) {
  Phase round = step(r, fabric, r.scope);
  round.bytes = share(r, fabric);
  Phases phases;
  for (round.shift = 1; round.shift < members(fabric, r.scope); ++round.shift) {
    phases.push_back(round);
    if (!r.blocks.empty()) send_blocks(r, round.shift, round.shift, phases.back());
  }
  return phases;
}

Phases all_at_once(const Request& r, const Fabric& fabric, Bytes bytes) {
  Phase phase = step(r, fabric, r.scope);
  phase.pattern = Pattern::pairs;
  phase.bytes = bytes;
  return {phase};
}

Phases burst(const Request& r, const Fabric& fabric) {
  Phases phases = all_at_once(r, fabric, share(r, fabric));
  if (!r.blocks.empty()) send_blocks(r, 1, fabric.ranks() - 1, phases.front());
  return phases;
}

Phases direct_all_gather(const Request& r, const Fabric& fabric) {
  return all_at_once(r, fabric, r.payload);
}

Phases incast(const Request& r, const Fabric& fabric) {
  Phase round = step(r, fabric, r.scope);
  round.pattern = Pattern::fan_in;
  round.bytes = share(r, fabric);
  Phases phases;
  for (round.shift = 0; round.shift < members(fabric, r.scope); ++round.shift) phases.push_back(round);
  return phases;
}

/// The vector moves from rank to rank in pipelined pieces.
Phases chain(const Request& r, const Fabric& fabric) {
  Phase phase;
  phase.pattern = Pattern::list;
  phase.list = [bytes = r.payload](const Fabric& f, const FlowVisit& visit) {
    for (Index rank = 0; rank + 1 < f.ranks(); ++rank) visit(f.slot(rank), f.slot(rank + 1), bytes);
  };
  const CallCosts call = call_costs(r, fabric);
  phase.list(fabric, [&](Index from, Index to, Bytes) {
    phase.latency += fabric.node(from) == fabric.node(to) ? call.gpu_hop : call.network_hop;
  });
  return {phase};
}

/// Plans the way up, to the root. The way down reverses all flows, which takes the same time on full-duplex links.
Phases binomial(const Request& r, const Fabric& fabric) {
  Phases phases;
  for (Index distance = 1; distance < fabric.ranks(); distance *= 2) {
    Phase phase;
    phase.pattern = Pattern::list;
    phase.list = [distance, bytes = r.payload](const Fabric& f, const FlowVisit& visit) {
      for (Index rank = distance; rank < f.ranks(); rank += 2 * distance)
        visit(f.slot(rank), f.slot(rank - distance), bytes);
    };
    phase.latency = hop_of_flows(r, fabric, phase);
    phases.push_back(phase);
  }
  return phases;
}

Phases neighbours(const Request& r, const Fabric& fabric) {
  Phase phase = step(r, fabric, r.scope);
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
      {Collective::all_reduce, Algorithm::nvls, "the switch of a node adds and multicasts; trees between nodes", nvls},
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
  if (!(request.payload.value >= 0))
    throw ConfigError("an exchange has a negative number of bytes", "", "give at least 0");
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
  const bool fits = request.collective == Collective::all_to_all && request.scope == Scope::all &&
                    static_cast<Index>(request.blocks.size()) == fabric.ranks();
  if (!request.blocks.empty() && !fits) throw ConfigError("blocks of different sizes do not fit this exchange", "");
  if (members(fabric, request.scope) == 1) return {request, {}};  // nothing crosses a wire
  const CallCosts call = call_costs(request, fabric);
  Plan plan{request, found->phases(request, fabric), call.base};
  for (Phase& phase : plan.phases) phase.link_efficiency *= call.rate_share;
  return plan;
}

double longest_fill(Bytes payload) {
  return payload.value > 0 ? kMostInFlight / payload : 0;
}

Seconds fill_time(Seconds latency, Seconds bytes, double longest) {
  if (longest == 0) return {};
  return std::min(Seconds(std::sqrt(latency.value * bytes.value)), longest * bytes);
}

std::string_view name(Protocol protocol) {
  constexpr std::string_view names[] = {"LL", "LL128", "Simple"};
  return names[static_cast<std::size_t>(protocol)];
}

std::string_view name(Algorithm algorithm) {
  constexpr std::string_view names[] = {"ring",     "hierarchical", "tree",   "halving", "leader", "nvls",
                                        "pairwise", "burst",        "direct", "incast",  "chain",  "binomial"};
  return names[static_cast<std::size_t>(algorithm)];
}

}  // namespace onebit::netmodel
