#pragma once
// NCCL's tuning constants: the costs of its protocols, after src/graph/tuning.cc of NCCL 2.30.

#include "netmodel/plan/plan.hpp"

namespace onebit::netmodel {

/// Costs of one call of an algorithm with a protocol.
struct CallCosts {
  Seconds base;           ///< time of a call before its first step
  Seconds gpu_hop;        ///< latency of a step within a node
  Seconds network_hop;    ///< latency of a step between nodes
  double rate_share = 1;  ///< share of a link's rate that the protocol carries as payload
};

/// Returns the costs on a fabric. NCCL's latencies hold for a cluster whose links have the latencies of NCCL's table:
/// 3.4 us on NVLink, 5.7 us on PCIe and 14 us on the network (a ring's step with the Simple protocol). On another
/// cluster, latencies inside a node are scaled. Between nodes, an excess over 14 us is added: all of it with Simple,
/// whose messages cross the network twice (data and flush), and half of it with LL and LL128; latencies below 14 us are
/// scaled too. Algorithms that are not NCCL's are given a ring's latencies.
CallCosts call_costs(const Request& request, const Fabric& fabric);

/// Returns the time that NCCL's tuner predicts for a ring, a tree or an NVLS algorithm from nominal rates: base latency
/// + hops + bytes / bandwidth; between nodes, the latency of a ring's all-reduce with Simple is multiplied by 1.4. The
/// rate of trees is corrected by a factor, which is listed for sizes that are powers of two and interpolated in
/// between. On two nodes with NVLink, the bandwidth of trees is that of the links inside the nodes, but at most twice
/// that of the links between the nodes. With PCIe, trees do not have the bandwidth of the links inside the nodes,
/// because PCIe is not a faster path than the network. Deviations from NCCL: there are always enough channels to fill
/// the links; no CollNet or PAT; no limits per channel.
Seconds nccl_time(const Request& request, const Fabric& fabric);

/// For a ring or tree, returns the protocol for which nccl_time() is the smallest; LL128 is considered only with
/// NVLink. Returns Simple for all other algorithms and for exchanges with neighbours.
Protocol best_protocol(Request request, const Fabric& fabric);

/// Whether NCCL has this algorithm on this fabric: rings and trees on all fabrics, NVLS if three or more GPUs of a
/// node are joined by a switch that can add.
bool nccl_has(Algorithm algorithm, const Fabric& fabric);

}  // namespace onebit::netmodel
