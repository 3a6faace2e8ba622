#include "netmodel/cost/fluid.hpp"

#include "device/base/error.hpp"
#include "netmodel/cost/link_load.hpp"
#include "tests/catch.hpp"
#include "tests/netmodel/models.hpp"

using namespace onebit;
using namespace onebit::tests;

namespace {

Plan ring(const Fabric& fabric) {
  return plan(request(Collective::all_reduce, Algorithm::ring, 680e6), fabric);
}

Flow flow(Index from, Index to, double bytes) {
  return {from, to, Bytes(bytes)};
}

/// One phase of listed flows, without latency or sums.
Plan flows(const std::vector<Flow>& list) {
  Phase phase;
  phase.pattern = Phase::Pattern::list;
  phase.list = [list](const Fabric&, const FlowVisit& visit) {
    for (const Flow& each : list) visit(each.from, each.to, each.bytes);
  };
  return {{}, {phase}};
}

double seconds(const std::vector<Flow>& list, const Fabric& fabric) {
  const Plan all = flows(list);
  const TimedPlan timed{&all, Seconds(0)};
  return finish_times({&timed, 1}, {}, fabric).front().value;
}

}  // namespace

TEST_CASE("flows that share a link share it fairly") {
  const Fabric fabric(round_cluster(), 4);  // 1 GB/s
  CHECK(seconds({flow(0, 1, 1e9)}, fabric) == Approx(1));
  CHECK(seconds({flow(0, 1, 1e9), flow(0, 2, 1e9)}, fabric) == Approx(2));
  // GPU 0 sends two flows; the one to GPU 1 shares the way in with a third flow. All run at half the rate until the
  // short one ends.
  CHECK(seconds({flow(0, 1, 1e9), flow(0, 2, 1e9), flow(3, 1, 0.5e9)}, fabric) == Approx(2));
  // 0 -> 1 gets a third of the way into 1. 0 -> 2 gets the two thirds that are left of the way out of 0, and sends 1 GB
  // in 1.5 s. That does not speed up 0 -> 1, which still shares with two others: 3 s in all.
  CHECK(seconds({flow(0, 1, 1e9), flow(0, 2, 1e9), flow(2, 1, 1e9), flow(3, 1, 1e9)}, fabric) == Approx(3));
  Cluster capped = round_cluster();
  capped.nic.stream_cap = BytesPerSecond(0.25e9);
  CHECK(seconds({flow(0, 1, 1e9), flow(0, 2, 1e9)}, Fabric(capped, 4)) == Approx(4));
}

TEST_CASE("a single collective takes what its link loads say") {
  for (const AlgorithmEntry& entry : algorithms()) {
    for (const Index width : {1, 4}) {
      for (const Index nodes : {1, 2, 3, 4, 8}) {
        Cluster cluster = round_cluster(width);
        cluster.nic.scale_penalty = 0.05;
        cluster.nic.per_message = Seconds(1e-5);
        if (nodes == 8) cluster.placement = Placement::interleaved;
        const Request r = request(entry.collective, entry.algorithm, 12'345'678);
        CAPTURE(name(entry.collective), name(entry.algorithm), width, nodes);
        const Estimate fluid = cost(Fluid(), cluster, width * nodes, r);
        const Estimate loads = cost(LinkLoad(), cluster, width * nodes, r);
        CHECK(fluid.total.value == Approx(loads.total.value).epsilon(1e-9).margin(1e-15));
        CHECK(fluid.nic_bytes == loads.nic_bytes);
      }
    }
  }
}

TEST_CASE("flows that are listed for one rail load unequal links as they do when all rails are listed") {
  for (const bool leaves : {false, true}) {
    Cluster cluster = round_cluster(4);
    if (leaves) {
      cluster.nodes_per_leaf = 2;
      cluster.oversubscription = 3;
    } else {
      cluster.nic_shares = {{1, 0.5}};
    }
    const Request r = request(Collective::all_reduce, Algorithm::nvls, 12'345'678);
    const Estimate fluid = cost(Fluid(), cluster, 16, r), loads = cost(LinkLoad(), cluster, 16, r);
    CAPTURE(leaves);
    CHECK(fluid.total.value == Approx(loads.total.value).epsilon(1e-9));
    CHECK(fluid.nic_bytes == loads.nic_bytes);
    CHECK(loads.bottleneck.kind == (leaves ? Link::Kind::leaf_out : Link::Kind::nic_out));
  }
}

TEST_CASE("two jobs on one network take twice as long, a background flow costs its share") {
  const Fabric fabric(find_cluster("paper-ethernet"), 64);
  const Plan job = ring(fabric);
  const double alone = LinkLoad().cost(job, fabric).bandwidth.value;
  const std::vector<TimedPlan> two = {{&job, Seconds(0)}, {&job, Seconds(0)}};
  for (const Seconds end : finish_times(two, {}, fabric)) CHECK(end.value == Approx(2 * alone).epsilon(0.01));
  CHECK(Fluid(2).cost(job, fabric).total.value == Approx(2 * alone).epsilon(0.01));
  CHECK(Fluid(1, {flow(0, 5, 0)}).cost(job, fabric).total.value == Approx(2 * alone).epsilon(0.01));
  CHECK_THROWS_AS(Fluid(1, {flow(0, 64, 0)}).cost(job, fabric), ConfigError);
  const std::vector<TimedPlan> one = {{&job, Seconds(0)}};
  const std::vector<Flow> elephant = {flow(0, 5, 0)};
  CHECK(finish_times(one, elephant, fabric).front().value == Approx(2 * alone).epsilon(0.01));
  // A job that begins when the other has ended is not slowed by it.
  const std::vector<TimedPlan> apart = {{&job, Seconds(0)}, {&job, Seconds(10)}};
  const auto ends = finish_times(apart, {}, fabric);
  CHECK(ends[1].value - 10 == Approx(ends[0].value));
}
