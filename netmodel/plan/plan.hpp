#pragma once
// Plans of collectives, made of phases of flows between GPUs. Planners create plans, and cost models price them.

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "netmodel/cluster/fabric.hpp"
#include "netmodel/wire/traffic.hpp"

namespace onebit::netmodel {

/// Which ranks exchange with each other: all ranks of the job, the GPUs of each node (local), or the GPUs with the same
/// position in their nodes (rail). With local and rail, all nodes or all rails run the same exchange simultaneously.
enum class Scope : std::uint8_t { all, local, rail };

enum class Algorithm : std::uint8_t {
  ring,          ///< all-reduce, reduce-scatter, all-gather, neighbour exchange: blocks pass around a ring
  hierarchical,  ///< all-reduce: reduce-scatter in the node, ring on every rail, all-gather in the node
  tree,          ///< all-reduce: two pipelined binary trees, each with half the vector; a chain in the node (NCCL)
  halving,       ///< all-reduce: recursive halving and doubling, nearest partners first (Rabenseifner)
  leader,        ///< all-reduce: reduce to one GPU per node, ring among these GPUs, broadcast
  nvls,          ///< all-reduce: a node's switch adds and multicasts (NVLink SHARP); between nodes, trees on every rail
  pairwise,      ///< all-to-all, gather to servers: N-1 rounds, one partner each
  burst,         ///< all-to-all: everything at once
  direct,        ///< all-gather: every block directly to all ranks, at once
  incast,        ///< gather to servers: one server after the other receives from all senders at once
  chain,         ///< broadcast: pipelined from rank to rank
  binomial,      ///< tree: ceil(log2 N) rounds
};

std::string_view name(Algorithm algorithm);

/// NCCL's protocols. Simple uses the full rate of the links and synchronises by separate messages; LL and LL128 put
/// flags into the data, so that the latency is lower but only a part of the rate is reached.
enum class Protocol : std::uint8_t { ll, ll128, simple };

std::string_view name(Protocol protocol);

struct Flow {
  Index from = 0, to = 0;  ///< slots of the two GPUs
  Bytes bytes;
};

using FlowVisit = std::function<void(Index from, Index to, Bytes bytes)>;

/// Flows that begin together; the phase ends with its last flow. Equal flows are given by a pattern, others by a
/// function that lists them, so that a plan is small for any number of GPUs.
struct Phase {
  enum class Pattern : std::uint8_t {
    shift,   ///< every rank sends to the one `shift` ranks after it in the scope, wrapping around
    pairs,   ///< every rank sends to all others of the scope
    fan_in,  ///< all other ranks of the scope send to rank `shift`
    list,    ///< the flows that `list` lists; with scope rail, each flow runs once for every GPU of a node (turned)
  };
  Pattern pattern = Pattern::shift;
  Scope scope = Scope::all;
  Index shift = 1;
  Bytes bytes;  ///< size of each flow of a pattern
  std::function<void(const Fabric&, const FlowVisit&)> list;
  Index repeat = 1;            ///< number of times that the phase runs
  Seconds latency{};           ///< part of one run's time that does not depend on its bytes
  double link_efficiency = 1;  ///< share of the links' rates that the algorithm gets
  double longest_fill = 0;     ///< for fill_time(); 0: the phase is not a pipeline
};

/// The request that a plan carries out. Closed forms use only this part of a plan.
struct Request {
  Collective collective = Collective::all_reduce;
  Scope scope = Scope::all;
  Algorithm algorithm = Algorithm::ring;
  Bytes payload;  ///< payload of a rank, as in Traffic
  Protocol protocol = Protocol::simple;
  /// For an all-to-all among all ranks with blocks of different sizes: for each rank, the size of the block that it
  /// sends to every other rank or, with by_receiver, receives from every other rank. The payload is then that of the
  /// busiest rank. Empty: every block has the size payload / N.
  std::vector<Bytes> blocks = {};
  bool by_receiver = false;
};

struct Plan {
  Request request;
  std::vector<Phase> phases;
  Seconds base{};  ///< time of the call before its first phase
};

/// Share of the links' rates that NCCL's pipelined trees reach.
inline constexpr double kTreeShare = 0.92;

/// The most bytes of a vector that NCCL's buffers hold, in all pipelines together. The value is fitted: see
/// fill_time().
inline constexpr Bytes kMostInFlight{32.0 * (1 << 20)};

/// Returns the longest time that filling and draining the pipeline of a vector may take, relative to the time that its
/// bytes need.
double longest_fill(Bytes payload);

/// Returns the time in which links wait while a pipeline fills and drains. Trees and NVLS pass pieces of the vector
/// from hop to hop. If all hops together have the latency L and the bytes need the time T, a transfer in pieces of the
/// best size takes L + T + 2 sqrt(L T). The model uses half of the last term, but at most `longest` times T, because
/// buffers limit the size of the pieces. The factor of one half and kMostInFlight were fitted to all all-reduces of
/// docs/measurements/collectives.csv together.
Seconds fill_time(Seconds latency, Seconds bytes, double longest);

/// Largest number of flows that a cost model keeps in memory.
inline constexpr Index kMostFlows = Index{1} << 22;

/// Throws ConfigError if `count` is above kMostFlows. model: the cost model, for the message.
void check_flows(Index count, std::string_view model);

/// Returns the number of ranks that exchange with each other.
Index members(const Fabric& fabric, Scope scope);

/// Plans a request. The time for adding is not part of a plan: it is included in the effective rates of links, which
/// are those that collectives reach. Throws ConfigError if the payload is negative, if algorithms() does not list
/// the algorithm for this collective, or if the algorithm does not support this scope.
Plan plan(const Request& request, const Fabric& fabric);

/// A row of algorithms(), which lists the default of each collective first.
struct AlgorithmEntry {
  Collective collective;
  Algorithm algorithm;
  std::string_view doc;
  std::vector<Phase> (*phases)(const Request&, const Fabric&);
  bool scoped = false;  ///< whether it also supports the scopes local and rail
};
const std::vector<AlgorithmEntry>& algorithms();

/// Returns the GPU `places` positions after this one in the same node, wrapping around.
inline Index turned(Index slot, Index places, const Fabric& fabric) {
  const Index first = fabric.node(slot) * fabric.width();
  return first + (slot - first + places) % fabric.width();
}

/// Calls visit(from, to, bytes) for every flow of a phase; from and to are slots.
template <class Visit>
void for_each_flow(const Phase& phase, const Fabric& fabric, const Visit& visit) {
  if (phase.pattern == Phase::Pattern::list) {
    const Index rails = phase.scope == Scope::rail ? fabric.width() : 1;
    for (Index rail = 0; rail < rails; ++rail) {
      phase.list(fabric, [&](Index from, Index to, Bytes bytes) {
        visit(turned(from, rail, fabric), turned(to, rail, fabric), bytes.value);
      });
    }
    return;
  }
  const Index n = members(fabric, phase.scope), groups = fabric.ranks() / n;
  const auto slot = [&](Index group, Index member) {
    if (phase.scope == Scope::local) return group * n + member;
    if (phase.scope == Scope::rail) return member * groups + group;
    return fabric.slot(member);
  };
  for (Index group = 0; group < groups; ++group) {
    if (phase.pattern == Phase::Pattern::shift) {
      Index to = phase.shift % n;
      for (Index from = 0; from < n; ++from, to = to + 1 == n ? 0 : to + 1) {
        visit(slot(group, from), slot(group, to), phase.bytes.value);
      }
    } else if (phase.pattern == Phase::Pattern::fan_in) {
      for (Index from = 0; from < n; ++from) {
        if (from != phase.shift) visit(slot(group, from), slot(group, phase.shift), phase.bytes.value);
      }
    } else {
      for (Index from = 0; from < n; ++from) {
        for (Index to = 0; to < n; ++to) {
          if (from != to) visit(slot(group, from), slot(group, to), phase.bytes.value);
        }
      }
    }
  }
}

}  // namespace onebit::netmodel
