// All-to-alls whose blocks differ in size. Hand-computed.

#include "device/base/error.hpp"
#include "netmodel/cost/closed_form.hpp"
#include "netmodel/cost/fluid.hpp"
#include "netmodel/cost/link_load.hpp"
#include "tests/catch.hpp"
#include "tests/netmodel/models.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

Request uneven(Algorithm algorithm, const std::vector<double>& blocks, bool by_receiver) {
  Request made = request(Collective::all_to_all, algorithm, 0);
  for (const double block : blocks) {
    made.blocks.emplace_back(block);
    made.payload = std::max(made.payload, Bytes(static_cast<double>(blocks.size()) * block));
  }
  made.by_receiver = by_receiver;
  return made;
}

}  // namespace

TEST_CASE("uneven all-to-all: the busiest link decides, that of the largest sender or receiver") {
  const Cluster cluster = round_cluster();
  const double latency = 8.4e-6 + 1e-3;
  const Estimate sent = cost(LinkLoad(), cluster, 3, uneven(Algorithm::burst, {4e6, 1e6, 1e6}, false));
  CHECK(sent.total.value == Approx(latency + 8e6 / 1e9));  // two blocks of 4 MB leave rank 0
  CHECK(text(sent.bottleneck) == "network link of node 0 (out)");
  CHECK(sent.nic_bytes.value == 8e6);
  const Estimate received = cost(LinkLoad(), cluster, 3, uneven(Algorithm::burst, {1e6, 4e6, 1e6}, true));
  CHECK(received.total.value == Approx(latency + 8e6 / 1e9));
  CHECK(text(received.bottleneck) == "network link of node 1 (in)");
  // In rounds, each round waits for the largest block
  const Estimate rounds = cost(LinkLoad(), cluster, 3, uneven(Algorithm::pairwise, {4e6, 1e6, 1e6}, false));
  CHECK(rounds.total.value == Approx(8.4e-6 + 2 * (1e-3 + 4e6 / 1e9)));
}

TEST_CASE("uneven all-to-all: with equal blocks it is the usual one, in every cost model") {
  const Cluster cluster = round_cluster(2);
  for (const Algorithm algorithm : {Algorithm::burst, Algorithm::pairwise}) {
    const Request plain = request(Collective::all_to_all, algorithm, 6e6);
    for (const bool by_receiver : {false, true}) {
      const Request listed = uneven(algorithm, std::vector<double>(6, 1e6), by_receiver);
      CHECK(cost(LinkLoad(), cluster, 6, listed).total.value ==
            Approx(cost(LinkLoad(), cluster, 6, plain).total.value));
      CHECK(cost(Fluid(1, {}), cluster, 6, listed).total.value ==
            Approx(cost(Fluid(1, {}), cluster, 6, plain).total.value));
    }
  }
  const Request listed = uneven(Algorithm::burst, {4e6, 1e6, 1e6, 2e6}, true);
  CHECK(cost(Fluid(1, {}), round_cluster(), 4, listed).total.value ==
        Approx(cost(LinkLoad(), round_cluster(), 4, listed).total.value));
  CHECK_THROWS_WITH(cost(ClosedForm(), cluster, 4, listed), Contains("blocks differ in size"));
}

TEST_CASE("uneven all-to-all: blocks belong to all-to-alls among all ranks, one for each rank") {
  const Fabric fabric(round_cluster(), 4);
  CHECK_THROWS_AS(plan(uneven(Algorithm::burst, {1, 2, 3}, false), fabric), ConfigError);
  Request other = uneven(Algorithm::burst, {1, 2, 3, 4}, false);
  other.scope = Scope::rail;
  CHECK_THROWS_AS(plan(other, fabric), ConfigError);
  other.scope = Scope::all;
  other.collective = Collective::all_gather;
  other.algorithm = Algorithm::direct;
  CHECK_THROWS_AS(plan(other, fabric), ConfigError);
  CHECK(plan(uneven(Algorithm::burst, {5}, false), Fabric(round_cluster(), 1)).phases.empty());
}
