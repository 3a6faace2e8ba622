// The table of cluster presets: a cluster is one row here.

#include <array>

#include "netmodel/cluster.hpp"

namespace onebit::netmodel {
namespace {

constexpr LinkSpec link(double nominal_gigabytes, double effective_gigabytes, double latency_microseconds) {
  return {BytesPerSecond(nominal_gigabytes * 1e9), BytesPerSecond(effective_gigabytes * 1e9),
          Seconds(latency_microseconds * 1e-6)};
}

}  // namespace

std::span<const Cluster> clusters() {
  static const std::array<Cluster, 4> table = {{
      // name, doc, source, link {nominal GB/s, effective GB/s, us a step}
      {"eth1", "1 Gb/s Ethernet, TCP, one GPU a node", Source::estimated, link(0.125, 0.117, 50)},
      {"eth10", "10 Gb/s Ethernet, TCP, one GPU a node", Source::estimated, link(1.25, 1.1, 35)},
      // 60% of line rate is what NCCL's users see on TCP (NVIDIA/nccl issue 209); one stream may get as little as 1.2
      {"eth25", "25 Gb/s Ethernet, TCP, one GPU a node", Source::estimated, link(3.125, 2.0, 35)},
      // 12 GB/s is NCCL's own tuning constant for this network
      {"ib100", "100 Gb/s InfiniBand EDR, one GPU a node", Source::published, link(12.5, 12.0, 14)},
  }};
  return table;
}

}  // namespace onebit::netmodel
