#include "netmodel/plan/selector.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "device/base/error.hpp"

namespace onebit::netmodel {
namespace {

/// Latencies of NCCL's protocols LL, LL128 and Simple in microseconds, and their shares of a link's rate.
struct Protocol {
  double tree_base, ring_base;
  double tree_hop[3], ring_hop[3];  ///< NVLink, PCIe, network
  double tree_share, ring_share;
  double plateau;  ///< factor on a ring's latency between nodes
};
constexpr Protocol kProtocols[] = {
    {6.8, 6.6, {0.6, 1.0, 5.0}, {0.6, 1.0, 2.7}, 1 / 3.8, 0.5, 1},
    {14, 14, {1.25, 1.9, 8.5}, {1.9, 2.5, 4.0}, 120.0 / 128, 0.92, 1},
    {8.4, 8.4, {4.0, 4.0, 14}, {3.4, 5.7, 14}, 1, 1, 1.4},
};
constexpr int kNetwork = 2;
constexpr double kTreeShare = 0.92;  ///< share of the ring's bus bandwidth

std::string milliseconds(Seconds time) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g ms", 1e3 * time.value);
  return text;
}

Choice nccl_choice(Bytes payload, const Fabric& fabric) {
  const NcclTimes times = nccl_times(payload, fabric);
  const bool tree = times.tree < times.ring;
  return {tree ? Algorithm::tree : Algorithm::ring,
          "NCCL's rule at nominal rates: ring " + milliseconds(times.ring) + ", tree " + milliseconds(times.tree)};
}

Choice cheapest(Bytes payload, const Fabric& fabric, const CostModel& model) {
  Choice best;
  Seconds least;
  for (const AlgorithmEntry& entry : algorithms()) {
    if (entry.collective != Collective::all_reduce) continue;
    const Request request{Collective::all_reduce, Scope::all, entry.algorithm, payload};
    const Seconds time = model.cost(plan(request, fabric), fabric).total;
    if (!best.reason.empty()) best.reason += ", ";
    best.reason += std::string(name(entry.algorithm)) + " " + milliseconds(time);
    if (entry.algorithm == Algorithm::ring || time < least) {
      least = time;
      best.algorithm = entry.algorithm;
    }
  }
  best.reason = "cheapest of " + best.reason;
  return best;
}

Choice all_reduce_choice(Bytes payload, const Fabric& fabric, const CostModel& model) {
  const char* fixed = "fixed by the cluster";
  switch (fabric.cluster().all_reduce) {
    case Selection::ring:
      return {Algorithm::ring, fixed};
    case Selection::hierarchical:
      return {Algorithm::hierarchical, fixed};
    case Selection::tree:
      return {Algorithm::tree, fixed};
    case Selection::halving:
      return {Algorithm::halving, fixed};
    case Selection::leader:
      return {Algorithm::leader, fixed};
    case Selection::nccl:
      return nccl_choice(payload, fabric);
    case Selection::cheapest:
      return cheapest(payload, fabric, model);
  }
  return {};
}

}  // namespace

NcclTimes nccl_times(Bytes payload, const Fabric& fabric) {
  const auto n = static_cast<double>(fabric.ranks()), m = static_cast<double>(fabric.nodes());
  const auto g = static_cast<double>(fabric.width());
  const Cluster& cluster = fabric.cluster();
  const int inside = cluster.nvlink ? 0 : 1;
  const double gpu = cluster.gpu_link.nominal.value, nic = cluster.nic.nominal.value;
  const double bus = m > 1 ? std::min(gpu, nic) : gpu;
  NcclTimes best{Seconds(HUGE_VAL), Seconds(HUGE_VAL)};
  for (const Protocol& p : kProtocols) {
    const double steps = 2 * (n - 1), between = m > 1 ? 2 * (m - 1) : 0;
    const double ring_latency =
        (p.ring_base + (steps - between) * p.ring_hop[inside] + between * p.ring_hop[kNetwork]) *
        (m > 1 ? p.plateau : 1);
    const double tree_latency = p.tree_base + 2 * ((g - 1) * p.tree_hop[inside] + std::log2(m) * p.tree_hop[kNetwork]);
    // NCCL's algorithm bandwidth is the bus bandwidth times N / steps for a ring, and half the bus bandwidth for a
    // tree.
    const double ring_bytes = steps / n * payload.value / (p.ring_share * bus);
    const double tree_bytes = 2 * payload.value / (kTreeShare * p.tree_share * bus);
    best.ring = std::min(best.ring, Seconds(1e-6 * ring_latency + ring_bytes));
    best.tree = std::min(best.tree, Seconds(1e-6 * tree_latency + tree_bytes));
  }
  return best;
}

std::string_view name(Selection selection) {
  constexpr std::string_view names[] = {"ring", "hierarchical", "tree", "halving", "leader", "nccl", "cheapest"};
  return names[static_cast<std::size_t>(selection)];
}

Choice choose(Collective collective, Bytes payload, const Fabric& fabric, const CostModel& model) {
  const Cluster& cluster = fabric.cluster();
  switch (collective) {
    case Collective::all_reduce:
      return all_reduce_choice(payload, fabric, model);
    case Collective::all_to_all:
      return {cluster.pairwise_all_to_all ? Algorithm::pairwise : Algorithm::burst, "fixed by the cluster"};
    case Collective::all_gather:
      return {cluster.direct_all_gather ? Algorithm::direct : Algorithm::ring, "fixed by the cluster"};
    default:
      break;
  }
  for (const AlgorithmEntry& entry : algorithms()) {
    if (entry.collective == collective) return {entry.algorithm, "the default"};
  }
  throw ConfigError("a traffic record has an unknown collective", "");
}

Priced price(Collective collective, Bytes payload, const Fabric& fabric, const CostModel& model) {
  Priced priced{choose(collective, payload, fabric, model), {}};
  priced.estimate = model.cost(plan({collective, Scope::all, priced.choice.algorithm, payload}, fabric), fabric);
  return priced;
}

Estimate total_cost(const TrafficList& list, const Fabric& fabric, const CostModel& model) {
  Estimate sum;
  for (const Traffic& traffic : list) {
    if (traffic.group_size != fabric.ranks()) {
      throw ConfigError("an exchange of " + std::to_string(traffic.group_size) + " workers does not fit " +
                            std::to_string(fabric.ranks()) + " GPUs",
                        "cluster " + fabric.cluster().name);
    }
    sum += price(traffic.collective, Bytes(static_cast<double>(traffic.payload_bytes)), fabric, model).estimate;
  }
  return sum;
}

}  // namespace onebit::netmodel
