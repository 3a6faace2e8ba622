#include "netmodel/plan/phases.hpp"

#include <algorithm>

namespace onebit::netmodel {
namespace {

bool crosses(const Fabric& fabric, Scope scope) {
  return scope != Scope::local && fabric.nodes() > 1;
}

/// Returns the number of a ring's connections that leave a node.
Index ring_crossings(const Fabric& fabric, Scope scope) {
  if (!crosses(fabric, scope)) return 0;
  if (scope == Scope::rail || fabric.in_order()) return fabric.nodes();
  const Index n = fabric.ranks();
  Index count = 0;
  for (Index rank = 0; rank < n; ++rank) {
    count += fabric.node(fabric.slot(rank)) != fabric.node(fabric.slot((rank + 1) % n)) ? 1 : 0;
  }
  return count;
}

}  // namespace

Seconds hop(const Request& r, const Fabric& fabric, bool leaves_node) {
  const CallCosts call = call_costs(r, fabric);
  return leaves_node ? call.network_hop : call.gpu_hop;
}

Seconds hop_of_flows(const Request& r, const Fabric& fabric, const Phase& phase) {
  bool leaves_node = false;
  phase.list(fabric,
             [&](Index from, Index to, Bytes) { leaves_node = leaves_node || fabric.node(from) != fabric.node(to); });
  return hop(r, fabric, leaves_node);
}

Phase step(const Request& r, const Fabric& fabric, Scope scope) {
  Phase phase;
  phase.scope = scope;
  phase.latency = hop(r, fabric, crosses(fabric, scope));
  return phase;
}

Phase round_ring(const Request& r, const Fabric& fabric, Scope scope, Bytes block) {
  const CallCosts call = call_costs(r, fabric);
  const Index steps = members(fabric, scope) - 1, outside = std::max<Index>(ring_crossings(fabric, scope) - 1, 0);
  Phase phase;
  phase.scope = scope;
  phase.bytes = block;
  phase.repeat = steps;
  phase.latency = 1 / as_double(std::max<Index>(steps, 1)) *
                  (as_double(steps - outside) * call.gpu_hop + as_double(outside) * call.network_hop);
  return phase;
}

Bytes share(const Request& request, const Fabric& fabric) {
  return (1 / as_double(members(fabric, request.scope))) * request.payload;
}

}  // namespace onebit::netmodel
