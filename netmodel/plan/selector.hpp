#pragma once
// Which algorithm an exchange runs with, and why.

#include <string>

#include "netmodel/cost/cost_model.hpp"

namespace onebit::netmodel {

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  std::string reason;  ///< for people
};

std::string_view name(Selection selection);

/// Chooses as the cluster says: a fixed algorithm, NCCL's rule, or the cheapest by the model. Collectives other than
/// the all-reduce take the cluster's algorithm, or their default in algorithms().
Choice choose(Collective collective, Bytes payload, const Fabric& fabric, const CostModel& model);

/// What NCCL's tuner predicts for an all-reduce from nominal speeds, in the best of its protocols. After
/// src/graph/tuning.cc of NCCL 2.30: base latency + hops + bytes / bandwidth, the ring's latency times 1.4 with the
/// Simple protocol between nodes.
/// Deviations: one NIC and as many channels as fill it; no NVLS, CollNet or PAT; no per-channel limits; its table of
/// corrections for small trees is left out, so that trees look better below some 256 kB than NCCL thinks.
struct NcclTimes {
  Seconds ring, tree;
};
NcclTimes nccl_times(Bytes payload, const Fabric& fabric);

/// Chooses, plans and prices one exchange.
struct Priced {
  Choice choice;
  Estimate estimate;
};
Priced price(Collective collective, Bytes payload, const Fabric& fabric, const CostModel& model);

/// The total of exchanges, one at a time, of workers that fill the fabric. Throws ConfigError if a record is of another
/// number of workers.
Estimate total_cost(const TrafficList& list, const Fabric& fabric, const CostModel& model);

}  // namespace onebit::netmodel
