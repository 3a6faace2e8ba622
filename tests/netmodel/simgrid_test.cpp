// Link loads compared with SimGrid, if it is installed, and with its times on 64 GPUs, which are recorded here.

#include "netmodel/cost/simgrid/simgrid.hpp"

#include <filesystem>

#include "device/base/error.hpp"
#include "netmodel/cost/link_load.hpp"
#include "tests/catch.hpp"
#include "tests/netmodel/models.hpp"
#include "tests/sanitized.hpp"

using namespace onebit;
using namespace onebit::tests;

namespace {

/// 16 nodes of 4: 12 GB/s and 5 us inside, 4.1 Gb/s and 5 + 30 us outside; or 100 GB/s and 3 us, 11.25 GB/s and 3 + 5.
Cluster probe(bool fast) {
  Cluster cluster = round_cluster(4);
  const auto link = [](double rate, double latency) {
    return LinkSpec{.nominal = BytesPerSecond(rate), .effective = BytesPerSecond(rate), .latency = Seconds(latency)};
  };
  cluster.gpu_link = fast ? link(100e9, 3e-6) : link(12e9, 5e-6);
  cluster.nic = fast ? link(11.25e9, 8e-6) : link(4.1e9 / 8, 35e-6);
  return cluster;
}

struct Case {
  Collective collective;
  Algorithm algorithm;
  double bytes;
  double slow, fast;                    ///< milliseconds by SimGrid 3.32
  double network_steps, gpu_steps = 0;  ///< number of steps that each took a link's latency in SimGrid
};
constexpr double kPacked = 42.5e6;
const std::vector<Case> kCases = {
    {Collective::all_reduce, Algorithm::ring, 680e6, 2616.605, 120.008, 126},
    {Collective::all_reduce, Algorithm::hierarchical, 680e6, 2573.885, 123.791, 30, 6},
    {Collective::all_to_all, Algorithm::burst, kPacked, 311.010, 14.175, 1},
    {Collective::all_to_all, Algorithm::pairwise, kPacked, 313.180, 14.671, 63},
    {Collective::all_gather, Algorithm::ring, kPacked / 64, 83.836, 4.223, 63},
};

/// SimGrid's milliseconds without latencies: a plan's latencies are those of NCCL.
double bandwidth_only(double milliseconds, const Case& each, const Cluster& cluster) {
  const Seconds latency = each.network_steps * cluster.nic.latency + each.gpu_steps * cluster.gpu_link.latency;
  return milliseconds - 1e3 * latency.value;
}

#ifdef ONEBIT_SIMGRID_PLUGIN
constexpr const char* kPlugin = ONEBIT_SIMGRID_PLUGIN;
#else
constexpr const char* kPlugin = "";
#endif

}  // namespace

TEST_CASE("link loads give SimGrid's times of 64 GPUs") {
  for (const Case& each : kCases) {
    CAPTURE(name(each.collective), name(each.algorithm));
    const Request r = request(each.collective, each.algorithm, each.bytes);
    for (const bool fast : {false, true}) {
      const double expected = bandwidth_only(fast ? each.fast : each.slow, each, probe(fast));
      CHECK(1e3 * cost(LinkLoad(), probe(fast), 64, r).bandwidth.value == Approx(expected).epsilon(1e-4));
    }
  }
}

TEST_CASE("link loads are what SimGrid simulates") {
  ONEBIT_SKIP_UNLESS(!kSanitized, "plain build", "SimGrid switches stacks, which sanitizers do not follow");
  ONEBIT_SKIP_UNLESS(*kPlugin != 0, "simgrid", "not in this build: SimGrid is not installed");
  setenv("ONEBIT_SIMGRID", kPlugin, 1);
  const auto alike = [](const Cluster& cluster, const Request& r) {
    CAPTURE(name(r.collective), name(r.algorithm), cluster.nic.effective.value);
    const Estimate loads = cost(LinkLoad(), cluster, 64, r);
    CHECK(cost(SimGrid(), cluster, 64, r).total.value == Approx(loads.total.value).epsilon(1e-4));
  };
  for (const bool fast : {false, true}) {
    for (const Case& each : kCases) alike(probe(fast), request(each.collective, each.algorithm, each.bytes));
  }
  const Request ring = request(Collective::all_reduce, Algorithm::ring, 680e6);
  Cluster odd = probe(false);
  odd.placement = Placement::interleaved;
  alike(odd, ring);
  odd.placement = Placement::contiguous;
  odd.nic_shares = {{3, 0.5}};
  alike(odd, ring);
  odd.nic_shares.clear();
  odd.oversubscription = 3;
  alike(odd, ring);
  odd.oversubscription = 1;
  odd.gpu_link.stream_cap = BytesPerSecond(0.1e9);  // also the cap of flows between nodes
  alike(odd, ring);
  odd.gpu_link.stream_cap = BytesPerSecond(1e9);
  odd.nic.stream_cap = BytesPerSecond(0.2e9);
  alike(odd, request(Collective::all_reduce, Algorithm::hierarchical, 680e6));
  CHECK(cost(SimGrid(), probe(true), 1, ring).total.value == 0);
}
