#include "netmodel/cluster/cluster.hpp"

#include <functional>

#include "device/base/error.hpp"
#include "netmodel/cluster/fabric.hpp"
#include "tests/catch.hpp"
#include "tests/netmodel/models.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

TEST_CASE("presets are found by name") {
  CHECK(find_cluster("eth1").nic.effective.value == Approx(0.117e9));
  CHECK(find_cluster("eth10").nic.latency.value == Approx(35e-6));
  CHECK(find_cluster("eth25").nic.nominal.value == Approx(3.125e9));
  CHECK(find_cluster("ib100").source == Source::published);
  CHECK(find_cluster("paper-ethernet").gpus_per_node == 4);
  CHECK(name(find_cluster("paper-infiniband").source) == "fitted");
}

TEST_CASE("every preset is complete, slowest first, and no link gives more than it is sold as") {
  double before = 0;
  for (const Cluster& cluster : clusters()) {
    CAPTURE(cluster.name);
    CHECK(&find_cluster(cluster.name) == &cluster);
    CHECK_NOTHROW(check(cluster));
    CHECK_FALSE(cluster.doc.empty());
    CHECK(cluster.nic.effective <= cluster.nic.nominal);
    CHECK(cluster.gpu_link.effective <= cluster.gpu_link.nominal);
    CHECK(cluster.nic.effective.value >= before);
    before = cluster.nic.effective.value;
  }
  for (const GpuLink& link : gpu_links()) CHECK(&find_gpu_link(link.name) == &link);
  for (const Gpu& gpu : gpus()) CHECK(&find_gpu(gpu.name) == &gpu);
}

TEST_CASE("an unknown preset is an error that suggests names") {
  CHECK_THROWS_AS(find_cluster("eth2"), ConfigError);
  CHECK_THROWS_WITH(find_cluster("eth2"), Contains("unknown cluster \"eth2\"; did you mean eth1"));
  std::string all;
  for (const Cluster& cluster : clusters()) all += (all.empty() ? "one of " : ", ") + cluster.name;
  CHECK_THROWS_WITH(find_cluster("token-ring"), Contains(clusters().size() > 12 ? "nearest: " : all));
  CHECK_THROWS_AS(find_cluster(""), ConfigError);
  CHECK_THROWS_WITH(find_gpu_link("nvlink9"), Contains("nvlink"));
}

TEST_CASE("impossible clusters are refused by field") {
  const std::vector<std::pair<std::string, std::function<void(Cluster&)>>> wrongs = {
      {"nic.effective is not above 0", [](Cluster& c) { c.nic.effective = BytesPerSecond(0); }},
      {"nic.nominal is not above 0", [](Cluster& c) { c.nic.nominal = BytesPerSecond(-1); }},
      {"gpu-link.effective is not above 0", [](Cluster& c) { c.gpu_link.effective = BytesPerSecond(std::nan("")); }},
      {"bits", [](Cluster& c) { c.nic.nominal = BytesPerSecond(1e14); }},
      {"nic.latency", [](Cluster& c) { c.nic.latency = Seconds(-1e-6); }},
      {"per-message", [](Cluster& c) { c.gpu_link.per_message = Seconds(-1); }},
      {"stream-cap", [](Cluster& c) { c.nic.stream_cap = BytesPerSecond(-1); }},
      {"scale-penalty", [](Cluster& c) { c.nic.scale_penalty = -1; }},
      {"gpus-per-node", [](Cluster& c) { c.gpus_per_node = 0; }},
      {"nodes out of range", [](Cluster& c) { c.nodes = -1; }},
      {"oversubscription", [](Cluster& c) { c.oversubscription = 0.5; }},
      {"jitter", [](Cluster& c) { c.jitter = 2; }},
      {"names node 9",
       [](Cluster& c) {
         c.nodes = 4, c.nic_shares = {{9, 0.5}};
       }},
      {"nic-shares of node 1",
       [](Cluster& c) {
         c.nic_shares = {{1, 0}};
       }},
      {"stragglers of node 1",
       [](Cluster& c) {
         c.stragglers = {{1, 0.5}};
       }},
      {"unknown GPU", [](Cluster& c) { c.gpu = "tpu"; }},
  };
  for (const auto& [what, wrong] : wrongs) {
    Cluster cluster = round_cluster();
    wrong(cluster);
    CAPTURE(what);
    CHECK_THROWS_WITH(check(cluster), Contains(what));
    CHECK_THROWS_AS(Fabric(cluster, 4), ConfigError);
  }
}

TEST_CASE("ranks fill nodes, wherever they are placed") {
  Cluster cluster = round_cluster(4);
  CHECK(Fabric(cluster, 16).nodes() == 4);
  CHECK(Fabric(cluster, 2).width() == 2);
  CHECK_THROWS_WITH(Fabric(cluster, 6), Contains("6 workers do not fill nodes of 4 GPUs"));
  CHECK_THROWS_AS(Fabric(cluster, 0), ConfigError);
  cluster.nodes = 2;
  CHECK(Fabric(cluster, 8).nodes() == 2);
  CHECK_THROWS_WITH(Fabric(cluster, 16), Contains("2 nodes of 4 GPUs"));
  cluster.nodes = 0;
  for (const Placement placement : {Placement::contiguous, Placement::interleaved, Placement::random}) {
    cluster.placement = placement;
    const Fabric fabric(cluster, 32);
    std::vector<int> seen(32);
    for (Index rank = 0; rank < 32; ++rank) ++seen[static_cast<std::size_t>(fabric.slot(rank))];
    CHECK(seen == std::vector<int>(32, 1));
    CHECK(fabric.symmetric() == (placement == Placement::contiguous));
    if (placement == Placement::interleaved) CHECK(fabric.node(fabric.slot(9)) == 1);
  }
}

TEST_CASE("a stream cap holds for each stream, a scale penalty grows with the nodes") {
  Cluster cluster = round_cluster();
  cluster.nic.stream_cap = BytesPerSecond(0.4e9);
  cluster.nic.scale_penalty = 0.5;
  CHECK(Fabric(cluster, 2).nic_rate(0, 1).value == Approx(0.4e9));
  CHECK(Fabric(cluster, 2).nic_rate(0, 8).value == Approx(1e9 / 1.5));
  CHECK(Fabric(cluster, 16).nic_rate(0, 8).value == Approx(1e9 / 3));
}

TEST_CASE("a job that is too large to count is refused") {
  const Cluster& cluster = find_cluster("eth10");
  CHECK(Fabric(cluster, kMostWorkers).nodes() == kMostWorkers);
  for (const Index workers : {kMostWorkers + 1, Index{1} << 31, Index{1} << 62}) {
    CHECK_THROWS_WITH(Fabric(cluster, workers),
                      Catch::Matchers::Contains("a job of " + std::to_string(workers) + " workers is too large"));
  }
}

TEST_CASE("a plan is as small for many workers as for few") {
  const Fabric large(find_cluster("eth10"), kMostWorkers);
  const Plan halving = plan({Collective::all_reduce, Scope::all, Algorithm::halving, Bytes(1e6)}, large);
  CHECK(halving.phases.size() == 40);
  Index flows = 0;
  for_each_flow(halving.phases[0], large, [&](Index, Index, double) { ++flows; });
  CHECK(flows == kMostWorkers);
}
