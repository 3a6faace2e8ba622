// Cost models against textbook formulas, against each other, and against bounds that hold for any algorithm.

#include <cmath>

#include "device/base/error.hpp"
#include "netmodel/cost/closed_form.hpp"
#include "netmodel/cost/link_load.hpp"
#include "netmodel/plan/nccl.hpp"
#include "tests/catch.hpp"
#include "tests/netmodel/models.hpp"

using namespace onebit;
using namespace onebit::tests;

namespace {

constexpr double kBase = 8.4e-6;  // seconds of a call before its first step

bool alike(const Estimate& a, const Estimate& b) {
  const auto near = [](double x, double y) { return std::abs(x - y) <= 1e-9 * std::max(std::abs(x), std::abs(y)); };
  return near(a.total.value, b.total.value) && near(a.latency.value, b.latency.value) &&
         near(a.bandwidth.value, b.bandwidth.value) && near(a.nic_bytes.value, b.nic_bytes.value);
}

std::vector<Scope> scopes_of(const AlgorithmEntry& entry) {
  return entry.scoped ? std::vector<Scope>{Scope::all, Scope::local, Scope::rail} : std::vector<Scope>{Scope::all};
}

}  // namespace

TEST_CASE("costs computed by hand") {
  const Cluster flat = round_cluster(), nodes = round_cluster(4);
  const LinkLoad model;
  const auto seconds = [&](const Cluster& cluster, Index ranks, const Request& r) {
    return cost(model, cluster, ranks, r).total.value;
  };
  using C = Collective;
  using A = Algorithm;
  const auto takes = [&](const Cluster& cluster, Index ranks, const Request& r, double expected) {
    CAPTURE(name(r.collective), name(r.algorithm));
    CHECK(seconds(cluster, ranks, r) == Approx(kBase + expected));
  };
  takes(flat, 4, request(C::all_reduce, A::ring, 1e9), 0.006 + 1.5);
  takes(flat, 4, request(C::all_to_all, A::pairwise, 1e9), 0.003 + 0.75);
  takes(flat, 4, request(C::all_to_all, A::burst, 1e9), 0.001 + 0.75);
  takes(flat, 4, request(C::all_gather, A::ring, 25e7), 0.003 + 0.75);
  takes(flat, 4, request(C::tree, A::binomial, 25e7), 0.002 + 0.5);
  // 8 GPUs on 2 nodes: 14 steps of 100 MB over the network, of which 2 wait for the network's latency and 12 for that
  // of the GPUs' links; hierarchical: 6 steps of 200 MB inside, 2 of 100 MB each of 4 rails outside
  takes(nodes, 8, request(C::all_reduce, A::ring, 8e8), 12e-4 + 0.002 + 1.4);
  takes(nodes, 8, request(C::all_gather, A::ring, 1e8), 6e-4 + 0.001 + 0.7);
  takes(nodes, 8, request(C::all_reduce, A::hierarchical, 8e8), 6e-4 + 0.12 + 0.002 + 0.8);
  takes(nodes, 8, request(C::all_reduce, A::halving, 8e8), 2 * (1e-4 + 0.04) + 2 * (1e-4 + 0.02) + 2 * (1e-3 + 0.4));
  takes(nodes, 8, request(C::all_reduce, A::leader, 8e8), 2 * (3e-4 + 0.08) + 2 * (1e-3 + 0.4));
  // Trees and NVLS with the latency L of their hops and the time T of their bytes take sqrt(L T) longer, to fill their
  // pipelines; at most the time of 32 MiB.
  const auto pipelined = [](double latency, double bytes) { return latency + bytes + std::sqrt(latency * bytes); };
  const auto limited = [](double latency, double bytes, double payload) {
    return latency + bytes + 33554432 / payload * bytes;
  };
  // A hop of a tree on NVLink takes 4 us where one of a ring takes 3.4
  takes(nodes, 8, request(C::all_reduce, A::tree, 8e8), limited(6e-4 * 4 / 3.4 + 2e-3, 0.8 / 0.92, 8e8));
  takes(nodes, 8, request(C::all_reduce, A::tree, 4e8), pipelined(6e-4 * 4 / 3.4 + 2e-3, 0.4 / 0.92));
  // The switch takes 25 us where a ring's hop takes 3.4, and a hop between nodes 18 us where a ring's takes 14
  takes(nodes, 4, request(C::all_reduce, A::nvls, 67108864), pipelined(1e-4 * 25 / 3.4, 67108864 / 0.5e10));
  takes(nodes, 4, request(C::all_reduce, A::nvls, 2e9), limited(1e-4 * 25 / 3.4, 2e9 / 0.5e10, 2e9));
  takes(nodes, 8, request(C::all_reduce, A::nvls, 2e9), limited(1e-4 * 25 / 3.4 + 2 * 1004e-6, 2.0, 2e9));
  takes(nodes, 16, request(C::all_reduce, A::nvls, 2e9), limited(1e-4 * 25 / 3.4 + 4 * 1004e-6, 4.0, 2e9));
  takes(nodes, 8, request(C::all_reduce, A::nvls, 0), 1e-4 * 25 / 3.4 + 2 * 1004e-6);
  // Two rounds inside nodes, one between them
  takes(nodes, 8, request(C::tree, A::binomial, 1e8), 2 * (1e-4 + 0.01) + 1e-3 + 0.1);
  takes(nodes, 8, request(C::gather, A::incast, 8e8), 8 * (1e-3 + 0.4));
  takes(nodes, 8, request(C::broadcast, A::chain, 8e8), 6e-4 + 1e-3 + 0.8);
  takes(nodes, 8, request(C::neighbour, A::ring, 1e8), 1e-3 + 0.2);
  // BERT-Large in fp16 (680 MB) on 16 nodes of 10 Gb/s Ethernet: 30 * 35 us + 1.875 * 680 MB / 1.1 GB/s
  takes(find_cluster("eth10"), 16, request(C::all_reduce, A::ring, 68e7), 1.160140909);
}

TEST_CASE("protocols cost the latencies of NCCL's table and a part of the rate") {
  Cluster cluster = find_cluster("dgx-h100");
  cluster.nic.latency = microseconds(14);
  const auto seconds = [&](Algorithm algorithm, Protocol protocol, Index ranks, double bytes) {
    Request r = request(Collective::all_reduce, algorithm, bytes);
    r.protocol = protocol;
    return cost(LinkLoad(), cluster, ranks, r).total.value;
  };
  CHECK(seconds(Algorithm::ring, Protocol::ll, 8, 0) == Approx(6.6e-6 + 14 * 0.6e-6));
  CHECK(seconds(Algorithm::ring, Protocol::ll128, 8, 0) == Approx(14e-6 + 14 * 1.9e-6));
  CHECK(seconds(Algorithm::tree, Protocol::ll, 32, 0) == Approx(6.8e-6 + 2 * (7 * 0.6e-6 + 2 * 5e-6)));
  CHECK(seconds(Algorithm::ring, Protocol::ll, 16, 0) == Approx(6.6e-6 + 28 * 0.6e-6 + 2 * 2.7e-6));
  CHECK(seconds(Algorithm::ring, Protocol::ll128, 8, 1e9) - seconds(Algorithm::ring, Protocol::ll128, 8, 0) ==
        Approx(1.75e9 / 370e9 / 0.92));
  // LL carries at most 141 GB/s of a bus of nominally 450
  CHECK(seconds(Algorithm::ring, Protocol::ll, 8, 1e9) - seconds(Algorithm::ring, Protocol::ll, 8, 0) ==
        Approx(1.75e9 / 370e9 / (141.0 / 450)));
  cluster.nic.latency = microseconds(54);  // 40 us more, of which LL pays half
  CHECK(seconds(Algorithm::tree, Protocol::ll, 16, 0) == Approx(6.8e-6 + 2 * (7 * 0.6e-6 + 25e-6)));
  CHECK(seconds(Algorithm::tree, Protocol::simple, 16, 0) == Approx(8.4e-6 + 2 * (7 * 4e-6 + 54e-6)));
  cluster.nic.latency = microseconds(7);
  CHECK(seconds(Algorithm::tree, Protocol::ll, 16, 0) == Approx(6.8e-6 + 2 * (7 * 0.6e-6 + 2.5e-6)));
}

TEST_CASE("closed forms are link loads on equal nodes") {
  const ClosedForm closed;
  const LinkLoad loads;
  for (const AlgorithmEntry& entry : algorithms()) {
    for (const Index width : {1, 2, 4, 8}) {
      for (const Index nodes : {1, 2, 3, 4, 5, 8, 16, 33}) {
        Cluster cluster = round_cluster(width);
        cluster.nic.per_message = Seconds(3e-5);
        cluster.nic.scale_penalty = 0.03;
        if (nodes == 16) cluster.nic.stream_cap = BytesPerSecond(0.3e9);
        for (const Scope scope : scopes_of(entry)) {
          const Request r = request(entry.collective, entry.algorithm, 12'345'678, scope);
          CAPTURE(name(entry.collective), name(entry.algorithm), width, nodes, static_cast<int>(scope));
          const bool power = (nodes & (nodes - 1)) == 0;
          if (entry.algorithm == Algorithm::halving && !power) {
            CHECK_THROWS_AS(cost(closed, cluster, width * nodes, r), ConfigError);
            continue;
          }
          CHECK(alike(cost(closed, cluster, width * nodes, r), cost(loads, cluster, width * nodes, r)));
        }
      }
    }
  }
}

TEST_CASE("equal nodes are priced alike whether they are known to be equal or counted one by one") {
  for (const AlgorithmEntry& entry : algorithms()) {
    for (const Index width : {1, 4}) {
      for (const Index nodes : {1, 2, 3, 8}) {
        Cluster equal = round_cluster(width);
        equal.nic.stream_cap = BytesPerSecond(0.3e9);
        equal.nic.per_message = Seconds(1e-5);
        Cluster counted = equal;
        counted.nic_shares = {{0, 1.0}};
        for (const Scope scope : scopes_of(entry)) {
          const Request r = request(entry.collective, entry.algorithm, 12'345'678, scope);
          CAPTURE(name(entry.collective), name(entry.algorithm), width, nodes, static_cast<int>(scope));
          CHECK(alike(cost(LinkLoad(), equal, width * nodes, r), cost(LinkLoad(), counted, width * nodes, r)));
        }
      }
    }
  }
}

TEST_CASE("closed forms refuse what they do not hold for") {
  const Request r = request(Collective::all_reduce, Algorithm::ring, 1e6);
  Cluster cluster = round_cluster(4);
  cluster.placement = Placement::interleaved;
  CHECK_THROWS_AS(cost(ClosedForm(), cluster, 8, r), ConfigError);
  cluster.placement = Placement::contiguous;
  cluster.nic_shares = {{1, 0.5}};
  CHECK_THROWS_AS(cost(ClosedForm(), cluster, 8, r), ConfigError);
  CHECK(cost(LinkLoad(), cluster, 8, r).total.value > 0);
}

TEST_CASE("one worker pays nothing, one node sends nothing over the network") {
  for (const auto& entry : cost_models()) {
    if (entry.needs_file) continue;
    const auto model = entry.make({});
    for (const AlgorithmEntry& algorithm : algorithms()) {
      const Request r = request(algorithm.collective, algorithm.algorithm, 1 << 20);
      CAPTURE(entry.name, name(algorithm.collective), name(algorithm.algorithm));
      CHECK(cost(*model, round_cluster(), 1, r).total.value == 0);
      CHECK(cost(*model, round_cluster(8), 8, r).nic_bytes.value == 0);
      CHECK(cost(*model, round_cluster(8), 8, r).total.value > 0);
      CHECK(cost(*model, round_cluster(8), 4, r).nic_bytes.value == 0);  // half a node
    }
  }
}

TEST_CASE("more bytes, more nodes and slower links never cost less", "[once]") {
  for (const auto& entry : cost_models()) {
    if (entry.needs_file) continue;
    const auto model = entry.make({});
    for (const AlgorithmEntry& algorithm : algorithms()) {
      for (const Cluster& cluster : clusters()) {
        if (algorithm.algorithm == Algorithm::nvls && cluster.nvls == 0) continue;
        if (entry.name != "link-load" && cluster.gpus_per_node > 8) continue;  // too many flows, no power of two
        CAPTURE(entry.name, name(algorithm.collective), name(algorithm.algorithm), cluster.name);
        const auto seconds = [&](const Cluster& c, Index nodes, double bytes) {
          return cost(*model, c, nodes * c.gpus_per_node, request(algorithm.collective, algorithm.algorithm, bytes))
              .total.value;
        };
        for (double bytes = 1, before = seconds(cluster, 8, 0); bytes < 1e11; bytes *= 8) {
          const double now = seconds(cluster, 8, bytes);
          CHECK(now > before);
          before = now;
        }
        double before = 0;
        for (const Index nodes : {1, 2, 4, 8, 16, 32}) {
          const double now = seconds(cluster, nodes, 1 << 20);
          CHECK(now >= before);
          before = now;
        }
        Cluster slow = cluster;
        slow.nic.effective = 0.5 * slow.nic.effective;
        CHECK(seconds(slow, 8, 1 << 24) >= seconds(cluster, 8, 1 << 24));
      }
    }
  }
}

TEST_CASE("no algorithm beats the bytes that have to cross a node's link") {
  const LinkLoad model;
  for (const AlgorithmEntry& entry : algorithms()) {
    for (const Index width : {1, 4}) {
      for (const Index nodes : {2, 3, 8, 16}) {
        CAPTURE(name(entry.collective), name(entry.algorithm), width, nodes);
        const auto m = static_cast<double>(nodes), g = static_cast<double>(width), n = m * g;
        const Estimate estimate =
            cost(model, round_cluster(width), width * nodes, request(entry.collective, entry.algorithm, 1e8));
        double least = 0;
        if (entry.collective == Collective::all_reduce) least = (nodes == 2 ? 1 : 2 * (m - 1) / m) * 1e8;
        if (entry.collective == Collective::all_to_all) least = g * (n - g) * 1e8 / n;
        if (entry.collective == Collective::all_gather) least = (m - 1) * g * 1e8;
        if (entry.collective == Collective::reduce_scatter) least = (m - 1) / m * 1e8;
        CHECK(estimate.bandwidth.value >= (1 - 1e-12) * least / 1e9);
        CHECK(estimate.nic_bytes.value >= (1 - 1e-12) * least);
      }
    }
  }
}

TEST_CASE("placement, slow links and a narrow core cost what they cost in SimGrid") {
  const Request ring = request(Collective::all_reduce, Algorithm::ring, 680e6);
  const LinkLoad model;
  Cluster cluster = find_cluster("paper-ethernet");
  const double base = cost(model, cluster, 64, ring).bandwidth.value;
  cluster.placement = Placement::interleaved;
  CHECK(cost(model, cluster, 64, ring).bandwidth.value == Approx(4 * base));
  cluster.placement = Placement::random;
  CHECK(cost(model, cluster, 64, ring).bandwidth.value > 3 * base);
  cluster.placement = Placement::contiguous;
  cluster.nic_shares = {{3, 0.5}};
  const Estimate slow = cost(model, cluster, 64, ring);
  CHECK(slow.bandwidth.value == Approx(2 * base));
  CHECK(text(slow.bottleneck) == "network link of node 3 (out)");
  cluster.nic_shares.clear();
  cluster.oversubscription = 3;
  CHECK(cost(model, cluster, 64, ring).bandwidth.value == Approx(3 * base));
  // Four nodes under a leaf switch: each sends once to another leaf, over uplinks of 4/3 of a node's rate
  cluster.nodes_per_leaf = 4;
  CHECK(cost(model, cluster, 64, ring).bandwidth.value == Approx(base));
  const Request all = request(Collective::all_to_all, Algorithm::burst, 64e6);
  CHECK(cost(model, cluster, 64, all).bandwidth.value == Approx(16 * 48 * 1e6 / (4.0 / 3 * 0.607e9)));
  CHECK(text(cost(model, cluster, 64, all).bottleneck) == "uplinks of leaf switch 0 (out)");
  cluster.nodes_per_leaf = 16;
  CHECK(cost(model, cluster, 64, all).bandwidth.value == Approx(4 * 60 * 1e6 / 0.607e9));
}

TEST_CASE("a flat 1-bit exchange sends 32 / (G + 1) times fewer bytes through a node's link than dense fp16") {
  const Index parameters = 64 * 1024 * 1024;
  for (const Index width : {1, 2, 4, 8}) {  // 16, 10.7, 6.4, 3.6
    const Index ranks = 1024 * width;
    const Fabric fabric(round_cluster(width), ranks);
    const auto bytes = [&](Collective collective, double payload, Algorithm algorithm) {
      return LinkLoad().cost(plan(request(collective, algorithm, payload), fabric), fabric).nic_bytes.value;
    };
    const double packed = static_cast<double>(parameters) / 8;
    const double flat = bytes(Collective::all_to_all, packed, Algorithm::burst) +
                        bytes(Collective::all_gather, packed / static_cast<double>(ranks), Algorithm::ring);
    CHECK(bytes(Collective::all_reduce, 2.0 * static_cast<double>(parameters), Algorithm::ring) / flat ==
          Approx(32.0 / static_cast<double>(width + 1)).epsilon(0.002));
  }
}

TEST_CASE("NCCL's rule is fed with nominal speeds") {
  const Fabric ethernet(find_cluster("paper-ethernet"), 64);
  CHECK(choose(Collective::all_reduce, Bytes(680e6), ethernet, LinkLoad()).algorithm == Algorithm::ring);
  Cluster cluster = find_cluster("ib100");
  cluster.gpus_per_node = 8;
  const Fabric nccl(cluster, 1024);
  const Choice large = choose(Collective::all_reduce, Bytes(1e10), nccl, LinkLoad());
  const Choice small = choose(Collective::all_reduce, Bytes(1e4), nccl, LinkLoad());
  CHECK(large.algorithm == Algorithm::ring);
  CHECK(small.algorithm == Algorithm::tree);
  CHECK_THAT(small.reason, Catch::Matchers::Contains("nominal"));
  const Request ring = request(Collective::all_reduce, Algorithm::ring, 1e9);
  const Seconds before = nccl_time(ring, nccl);
  cluster.nic.effective = 0.1 * cluster.nic.effective;
  CHECK(nccl_time(ring, Fabric(cluster, 1024)) == before);
  cluster.all_reduce = Selection::cheapest;
  const Fabric cheap(cluster, 1024);
  const Choice cheapest = choose(Collective::all_reduce, Bytes(1e8), cheap, LinkLoad());
  for (const AlgorithmEntry& entry : algorithms()) {
    if (entry.collective != Collective::all_reduce) continue;
    if (entry.algorithm == Algorithm::nvls) continue;  // not on this cluster
    const auto seconds = [&](Algorithm algorithm) {
      Request r = request(Collective::all_reduce, algorithm, 1e8);
      r.protocol = best_protocol(r, cheap);
      return LinkLoad().cost(plan(r, cheap), cheap).total;
    };
    CHECK(seconds(cheapest.algorithm) <= seconds(entry.algorithm));
  }
}

TEST_CASE("on two nodes, NCCL's rule takes the bandwidth of trees from inside the nodes") {
  const auto algorithm = [](const char* cluster, Index ranks) {
    return choose(Collective::all_reduce, Bytes(8e9), Fabric(find_cluster(cluster), ranks), LinkLoad()).algorithm;
  };
  CHECK(algorithm("aws-p4d", 16) == Algorithm::tree);
  CHECK(algorithm("aws-p4d", 32) == Algorithm::ring);
  CHECK(algorithm("dgx-h100", 8) == Algorithm::nvls);
  CHECK(algorithm("dgx-h100", 16) == Algorithm::nvls);
  CHECK(algorithm("dgx-h100", 32) == Algorithm::ring);
  CHECK(algorithm("eth10", 2) == Algorithm::ring);  // one GPU per node
  CHECK(algorithm("ib100", 2) == Algorithm::ring);
  Cluster pcie = find_cluster("eth10");
  pcie.gpus_per_node = 4;
  pcie.gpu_link = find_gpu_link("pcie4").link;
  pcie.nvlink = false;
  CHECK(choose(Collective::all_reduce, Bytes(8e9), Fabric(pcie, 8), LinkLoad()).algorithm == Algorithm::ring);
}

TEST_CASE("a GPU that has a network link of its own takes it along") {
  Cluster cluster = find_cluster("dgx-a100");
  const auto rate = [&](Index width) {
    cluster.gpus_per_node = width;
    return Fabric(cluster, 4 * width).nic_rate(0, 1).value;
  };
  CHECK(rate(8) == Approx(8 * 23.5e9));
  CHECK(rate(4) == Approx(4 * 23.5e9));
  cluster = find_cluster("aws-p4d");
  CHECK(rate(8) == Approx(4 * 11.5e9));
  CHECK(rate(1) == Approx(11.5e9));
  cluster.gpus_per_nic = 0;
  CHECK(rate(8) == Approx(11.5e9));
}
