#include "netmodel/cluster/cluster.hpp"

#include <algorithm>
#include <cmath>

#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::netmodel {
namespace {

[[noreturn]] void refuse(const Cluster& cluster, const std::string& what, const std::string& hint) {
  throw ConfigError(what, "cluster " + cluster.name, hint);
}

void check_rate(const Cluster& cluster, const char* link, const char* field, BytesPerSecond rate, bool may_be_zero) {
  const auto name = [&] { return std::string(link) + "." + field; };
  if (!(rate.value >= 0) || (rate.value == 0 && !may_be_zero)) {
    refuse(cluster, name() + " is not above 0", "in bytes per second, e.g. 1.1e9, 1.1GB/s or 10Gb/s");
  }
  if (rate > kFastestLink) {
    refuse(cluster, name() + " is more than 1e13 bytes per second",
           "if this is a number of bits, write for example 100Gb/s");
  }
}

void check_link(const Cluster& cluster, const char* name, const LinkSpec& spec) {
  check_rate(cluster, name, "nominal", spec.nominal, false);
  check_rate(cluster, name, "effective", spec.effective, false);
  check_rate(cluster, name, "stream-cap", spec.stream_cap, true);
  const auto refuse_link = [&](const std::string& why, const char* hint) { refuse(cluster, name + why, hint); };
  if (spec.effective > spec.nominal) {
    refuse_link(".effective is above " + std::string(name) + ".nominal",
                "the rate that collectives reach cannot exceed the line rate");
  }
  if (!(spec.latency.value >= 0 && spec.latency.value < 10 && spec.per_message.value >= 0 &&
        spec.per_message.value < 10)) {
    refuse_link(".latency or .per-message is negative or above 10 s", "in seconds, e.g. 35e-6 or 35us");
  }
  if (!(spec.scale_penalty >= 0 && spec.scale_penalty < 10)) {
    refuse_link(".scale-penalty is not in [0, 10)", "it is the k in effective / (1 + k log2 nodes)");
  }
}

void check_factors(const Cluster& cluster, const std::string& field, const std::vector<NodeFactor>& factors, double low,
                   double high) {
  for (const NodeFactor& each : factors) {
    if (each.node < 0 || (cluster.nodes > 0 && each.node >= cluster.nodes)) {
      refuse(cluster, field + " names node " + std::to_string(each.node) + ", which does not exist",
             "nodes are numbered from 0");
    }
    if (!(each.factor >= low && each.factor <= high)) {
      refuse(cluster, field + " of node " + std::to_string(each.node) + " is out of range",
             "from " + shortest(low) + " to " + shortest(high));
    }
  }
}

template <class Table>
const auto& find(const Table& table, std::string_view kind, std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& each : table) {
    if (each.name == name) return each;
    names.push_back(each.name);
  }
  throw ConfigError("unknown " + std::string(kind) + " \"" + std::string(name) + "\"", "", suggestion(name, names));
}

}  // namespace

void check(const Cluster& cluster) {
  constexpr Index most = 1 << 20;
  if (cluster.nodes < 0 || cluster.nodes > most)
    refuse(cluster, "nodes out of range", "from 0 (as many as the workers need) to 1,048,576");
  if (cluster.gpus_per_node < 1 || cluster.gpus_per_node > 1024) {
    refuse(cluster, "gpus-per-node out of range", "from 1 to 1024");
  }
  check_link(cluster, "nic", cluster.nic);
  check_link(cluster, "gpu-link", cluster.gpu_link);
  if (!(cluster.oversubscription >= 1 && cluster.oversubscription <= 1000)) {
    refuse(cluster, "oversubscription out of range", "from 1 (none) to 1000");
  }
  if (!(cluster.uncertainty >= 0 && cluster.uncertainty <= 0.9)) {
    refuse(cluster, "uncertainty out of range",
           "a share, e.g. 0.2; from 0 (0.5 if the source is estimated, otherwise 0.2) to 0.9");
  }
  if (cluster.nodes_per_leaf < 1 || cluster.nodes_per_leaf > most)
    refuse(cluster, "nodes-per-leaf out of range", "from 1 to 1,048,576");
  if (cluster.gpus_per_nic < 0 || cluster.gpus_per_nic > 1024)
    refuse(cluster, "gpus-per-nic out of range", "from 0 (the GPUs of a node share one network link) to 1024");
  if (!(cluster.nvls >= 0 && cluster.nvls <= 1)) refuse(cluster, "nvls out of range", "from 0 (none) to 1");
  if (!(cluster.jitter >= 0 && cluster.jitter <= 1)) refuse(cluster, "jitter out of range", "from 0 to 1");
  check_factors(cluster, "nic-shares", cluster.nic_shares, 1e-3, 1);
  check_factors(cluster, "stragglers", cluster.stragglers, 1, 1000);
  find_gpu(cluster.gpu);
}

const Cluster& find_cluster(std::string_view name) {
  return find(clusters(), "cluster", name);
}

const GpuLink& find_gpu_link(std::string_view name) {
  return find(gpu_links(), "GPU link", name);
}

const Gpu& find_gpu(std::string_view name) {
  return find(gpus(), "GPU", name);
}

std::string_view name(Source source) {
  switch (source) {
    case Source::published:
      return "published";
    case Source::fitted:
      return "fitted";
    case Source::estimated:
      return "estimated";
  }
  return "?";
}

double uncertainty_of(const Cluster& cluster) {
  if (cluster.uncertainty > 0) return cluster.uncertainty;
  return cluster.source == Source::estimated ? 0.5 : 0.2;
}

Cluster with_faster_links(Cluster cluster, double factor) {
  for (LinkSpec* link : {&cluster.nic, &cluster.gpu_link}) {
    link->effective = std::min(factor * link->effective, kFastestLink);
    link->nominal = std::max(link->nominal, link->effective);
    link->stream_cap = std::min(factor * link->stream_cap, kFastestLink);
    link->latency = 1 / factor * link->latency;
    link->per_message = 1 / factor * link->per_message;
  }
  return cluster;
}

}  // namespace onebit::netmodel
