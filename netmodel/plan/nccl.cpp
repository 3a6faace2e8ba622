#include "netmodel/plan/nccl.hpp"

#include <algorithm>
#include <cmath>

namespace onebit::netmodel {
namespace {

/// Constants of a protocol; times are in microseconds.
struct Row {
  double tree_base, ring_base;
  double tree_hop[3], ring_hop[3];  ///< NVLink, PCIe, network
  double tree_share, ring_share;    ///< payload's share of a link's rate
};
constexpr Row kRows[] = {
    {6.8, 6.6, {0.6, 1.0, 5.0}, {0.6, 1.0, 2.7}, 1 / 3.8, 0.5},
    {14, 14, {1.25, 1.9, 8.5}, {1.9, 2.5, 4.0}, 120.0 / 128, 0.92},
    {8.4, 8.4, {4.0, 4.0, 14}, {3.4, 5.7, 14}, 1, 1},
};
constexpr int kNetwork = 2;
constexpr double kSwitchHop = 25, kSwitchTreeHop = 18;  ///< NVLS: a call inside the node, and a hop between nodes
constexpr double kGigabyte = 1e9;
/// The highest bus bandwidth of LL in GB/s, by generation, on 1, 2 and more nodes.
constexpr double kMostLL[][3] = {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {141, 45, 35}};
/// Tenths of their rate that the tuner expects trees to reach at 64 B, 128 B and so on; for 1 GB and more, all ten.
constexpr int kTreeTenths[][24] = {
    {10, 10, 10, 10, 9, 8, 7, 7, 7, 7, 6, 5, 4, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10, 10},
    {10, 10, 10, 10, 10, 9, 8, 8, 8, 7, 6, 6, 6, 6, 6, 6, 8, 9, 9, 9, 9, 10, 10, 10},
    {9, 9, 9, 9, 9, 9, 9, 8, 7, 6, 6, 5, 5, 5, 5, 6, 7, 8, 7, 7, 8, 9, 9, 9},
};
constexpr double kMostInside = 2;  ///< largest bandwidth of trees inside two nodes, relative to that between them
constexpr double kPlateau = 1.4;   ///< factor on the latency of a ring between nodes

const Row& row_of(Protocol protocol) {
  return kRows[static_cast<std::size_t>(protocol)];
}

/// Returns a hop's constant in microseconds.
double hop_of(Algorithm algorithm, const Row& row, int link) {
  if (algorithm == Algorithm::nvls) return link == kNetwork ? kSwitchTreeHop : kSwitchHop;
  return algorithm == Algorithm::tree ? row.tree_hop[link] : row.ring_hop[link];
}

Seconds network_hop(double constant, Protocol protocol, Seconds latency) {
  const Row& simple = row_of(Protocol::simple);
  const double excess = 1e6 * latency.value - simple.ring_hop[kNetwork];
  if (excess < 0) return constant / simple.ring_hop[kNetwork] * latency;
  return microseconds(constant + (protocol == Protocol::simple ? 1 : 0.5) * excess);
}

/// Numbers of ranks and nodes that exchange with each other, the nominal rate of a GPU's link, and the bus bandwidth
/// that NCCL assumes between the ranks.
struct Extent {
  double ranks, nodes, gpu, bus;
};

Extent extent_of(Scope scope, const Fabric& fabric) {
  const double nodes = scope == Scope::local ? 1 : static_cast<double>(fabric.nodes());
  const double gpu = fabric.cluster().gpu_link.nominal.value;
  const double share = scope == Scope::rail ? static_cast<double>(fabric.width()) : 1;  // rails share the network link
  const double bus = nodes > 1 ? std::min(gpu, fabric.nominal_nic_rate().value / share) : gpu;
  return {static_cast<double>(members(fabric, scope)), nodes, gpu, bus};
}

double most_ll(const Fabric& fabric, double nodes) {
  const auto generation = static_cast<std::size_t>(fabric.gpu().generation);
  return kGigabyte * kMostLL[generation][nodes < 2 ? 0 : nodes < 3 ? 1 : 2];
}

double tree_correction(const Request& request) {
  const double size = std::log2(std::max(request.payload.value, 64.0) / 64);
  const auto& tenths = kTreeTenths[static_cast<std::size_t>(request.protocol)];
  const auto at = [&](double index) { return index < 24 ? tenths[static_cast<std::size_t>(index)] / 10.0 : 1; };
  const double below = std::floor(size), part = size - below;
  return (1 - part) * at(below) + part * at(below + 1);
}

CallCosts costs_in(const Extent& extent, const Request& request, const Fabric& fabric) {
  const Cluster& cluster = fabric.cluster();
  const Algorithm algorithm = request.algorithm;
  const Row &row = row_of(request.protocol), &simple = row_of(Protocol::simple);
  const int inside = cluster.nvlink ? 0 : 1;
  CallCosts call;
  call.base = microseconds(algorithm == Algorithm::tree ? row.tree_base : row.ring_base);
  call.gpu_hop = hop_of(algorithm, row, inside) / simple.ring_hop[inside] * cluster.gpu_link.latency;
  call.network_hop = network_hop(hop_of(algorithm, row, kNetwork), request.protocol, cluster.nic.latency);
  call.rate_share = algorithm == Algorithm::tree ? row.tree_share : row.ring_share;
  if (request.protocol == Protocol::ll) {
    call.rate_share = std::min(call.rate_share, most_ll(fabric, extent.nodes) / extent.bus);
  }
  return call;
}

/// Returns the bytes that a ring moves over each of its connections.
double ring_bytes(const Request& request, const Extent& extent) {
  const double passes = request.collective == Collective::all_reduce ? 2 : 1;
  const double whole = request.collective == Collective::all_gather ? extent.ranks : 1;
  return passes * (extent.ranks - 1) / extent.ranks * whole * request.payload.value;
}

Seconds ring_time(const Request& request, const Extent& extent, const CallCosts& call) {
  const bool reduces = request.collective == Collective::all_reduce;
  const double passes = reduces ? 2 : 1, steps = passes * (extent.ranks - 1), between = passes * (extent.nodes - 1);
  Seconds latency = call.base + (steps - between) * call.gpu_hop + between * call.network_hop;
  if (reduces && extent.nodes > 1 && request.protocol == Protocol::simple) latency = kPlateau * latency;
  return latency + Seconds(ring_bytes(request, extent) / (call.rate_share * extent.bus));
}

Seconds tree_time(const Request& request, const Extent& extent, const CallCosts& call, bool nvlink) {
  const double depth = std::log2(extent.nodes), width = extent.ranks / extent.nodes;
  const bool inside = extent.nodes <= 2 && width > 1 && nvlink;
  const double bus = inside ? std::min(extent.gpu, kMostInside * extent.bus) : extent.bus;
  return call.base + 2 * ((width - 1) * call.gpu_hop + depth * call.network_hop) +
         Seconds(2 * request.payload.value / (kTreeShare * call.rate_share * tree_correction(request) * bus));
}

Seconds switched_time(const Request& request, const Extent& extent, const CallCosts& call, double nvls) {
  double rate = nvls * extent.gpu;
  if (extent.nodes > 1) rate *= kTreeShare;
  if (extent.nodes > 2) rate = std::min(rate, extent.bus / 2);
  return call.base + call.gpu_hop + 2 * std::log2(extent.nodes) * call.network_hop +
         Seconds(request.payload.value / rate);
}

}  // namespace

CallCosts call_costs(const Request& request, const Fabric& fabric) {
  return costs_in(extent_of(request.scope, fabric), request, fabric);
}

Seconds nccl_time(const Request& request, const Fabric& fabric) {
  const Extent extent = extent_of(request.scope, fabric);
  const CallCosts call = costs_in(extent, request, fabric);
  if (request.algorithm == Algorithm::nvls) return switched_time(request, extent, call, fabric.cluster().nvls);
  if (request.algorithm == Algorithm::tree) return tree_time(request, extent, call, fabric.cluster().nvlink);
  return ring_time(request, extent, call);
}

Protocol best_protocol(Request request, const Fabric& fabric) {
  if (request.algorithm != Algorithm::ring && request.algorithm != Algorithm::tree) return Protocol::simple;
  if (request.collective == Collective::neighbour) return Protocol::simple;
  Protocol best = Protocol::simple;
  Seconds least(HUGE_VAL);
  for (const Protocol protocol : {Protocol::simple, Protocol::ll128, Protocol::ll}) {
    if (protocol == Protocol::ll128 && !fabric.cluster().nvlink) continue;  // LL128 needs NVLink
    request.protocol = protocol;
    const Seconds time = nccl_time(request, fabric);
    if (time < least) least = time, best = protocol;
  }
  return best;
}

bool nccl_has(Algorithm algorithm, const Fabric& fabric) {
  if (algorithm == Algorithm::ring || algorithm == Algorithm::tree) return true;
  return algorithm == Algorithm::nvls && fabric.cluster().nvls > 0 && fabric.width() > 2;
}

}  // namespace onebit::netmodel
