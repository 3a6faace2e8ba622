#pragma once
// The choice of an exchange's algorithm, with its reason.

#include <string>

#include "netmodel/cost/cost_model.hpp"

namespace onebit::netmodel {

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  std::string reason;  ///< reason in words, for people
};

std::string_view name(Selection selection);

/// Chooses an algorithm as the cluster specifies: a fixed one, by NCCL's rule, or the cheapest in the cost model.
/// Collectives other than all-reduce use the cluster's algorithm for them, or else their default in algorithms().
Choice choose(Collective collective, Bytes payload, const Fabric& fabric, const CostModel& model);

/// Times that NCCL's tuner predicts for an all-reduce from nominal rates, with the best of its protocols. After
/// src/graph/tuning.cc of NCCL 2.30: base latency + hops + bytes / bandwidth, the ring's latency times 1.4 with the
/// Simple protocol between nodes.
/// Deviations: one NIC and as many channels as fill it; no NVLS, CollNet or PAT; no per-channel limits; no table of
/// corrections for small trees, so that trees below about 256 kB appear faster than in NCCL.
struct NcclTimes {
  Seconds ring, tree;
};
NcclTimes nccl_times(Bytes payload, const Fabric& fabric);

/// An exchange's algorithm and price.
struct Priced {
  Choice choice;
  Estimate estimate;
};

/// Chooses, plans and prices one exchange.
Priced price(Collective collective, Bytes payload, const Fabric& fabric, const CostModel& model);

/// Returns the total of exchanges that run one after the other among workers that fill the fabric. Throws ConfigError
/// if a record has another number of workers.
Estimate total_cost(const TrafficList& list, const Fabric& fabric, const CostModel& model);

}  // namespace onebit::netmodel
