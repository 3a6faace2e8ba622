#pragma once
// The choice of an exchange's algorithm, with its reason.

#include <string>

#include "netmodel/cost/cost_model.hpp"

namespace onebit::netmodel {

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  std::string reason;  ///< human-readable reason
};

std::string_view name(Selection selection);

/// Chooses an algorithm as the cluster specifies: a fixed one, the one that NCCL's rule selects, or the cheapest
/// according to the cost model. Collectives other than all-reduce use the cluster's algorithm for them, or else their
/// default in algorithms(). The scope matters only to these collectives; the algorithm of an all-reduce is chosen as if
/// it ran among all ranks.
Choice choose(Collective collective, Bytes payload, const Fabric& fabric, const CostModel& model,
              Scope scope = Scope::all);

/// Returns the request that a choice stands for.
Request request_of(Collective collective, Bytes payload, const Choice& choice, Scope scope = Scope::all);

/// An exchange's algorithm and price.
struct Priced {
  Choice choice;
  Estimate estimate;
};

/// Chooses, plans and prices one exchange.
Priced price(Collective collective, Bytes payload, const Fabric& fabric, const CostModel& model,
             Scope scope = Scope::all);

/// Returns the total time of exchanges that run one after another, when the workers occupy the whole fabric. Throws
/// ConfigError if a record has a different number of workers.
Estimate total_cost(const TrafficList& list, const Fabric& fabric, const CostModel& model);

}  // namespace onebit::netmodel
