#include "analysis/exchanges.hpp"

#include "device/error.hpp"
#include "tests/analysis/runs.hpp"
#include "tests/netmodel/models.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

std::vector<Stretch> written(const std::vector<std::pair<Index, netmodel::TrafficList>>& steps) {
  const Folder folder;
  {
    sim::LogWriter log(folder / "run.h5", run_header({}, 1), false);
    for (const auto& [step, exchanges] : steps) log.append(step, exchanges);
    log.close(sim::RunStatus::finished);
  }
  return exchanges_of(sim::LogReader(folder / "run.h5"));
}

/// 1 ms for each of 6 messages, 1 GB/s, sums at the speed that closed forms take.
netmodel::Cluster ring_cluster() {
  netmodel::Cluster cluster = round_cluster();
  cluster.all_reduce = netmodel::Selection::ring;
  cluster.pairwise_all_to_all = true;
  return cluster;
}

}  // namespace

TEST_CASE("exchanges: steps in a row that exchange the same are one stretch") {
  const auto dense = dense_exchange(), compressed = compressed_exchange();
  const auto stretches =
      written({{1, dense}, {2, dense}, {3, compressed}, {4, compressed}, {6, compressed}, {7, dense}});
  REQUIRE(stretches.size() == 4);
  CHECK((stretches[0].first == 1 && stretches[0].last == 2 && stretches[0].each == dense));
  CHECK((stretches[1].first == 3 && stretches[1].last == 4 && stretches[1].each == compressed));
  CHECK((stretches[2].first == 6 && stretches[2].last == 6 && stretches[2].each == compressed));
  CHECK((stretches[3].first == 7 && stretches[3].last == 7 && stretches[3].each == dense));
  CHECK(stretches[0].steps() == 2);
  CHECK(written({}).empty());
}

TEST_CASE("exchanges: steps that do not ascend are damage") {
  CHECK_THROWS_AS(written({{2, dense_exchange()}, {1, dense_exchange()}}), IoError);
  CHECK_THROWS_WITH(written({{2, dense_exchange()}, {1, dense_exchange()}}), Contains("run.h5: /traffic"));
  CHECK_THROWS_AS(written({{-1, dense_exchange()}}), IoError);
}

TEST_CASE("exchanges: the clock adds up steps, and stands where nothing is exchanged") {
  const std::vector<Stretch> stretches = {{1, 2, dense_exchange()}, {4, 5, compressed_exchange()}};
  const ExchangeClock clock(stretches, 4, ring_cluster(), netmodel::LinkLoad());
  const double dense = clock.at(1), compressed = 6e-3 + 30e-9;
  CHECK(clock.at(0) == 0);
  CHECK(dense == Approx(6e-3 + 480e-9).epsilon(1e-6));
  CHECK(clock.at(2) == Approx(2 * dense).epsilon(1e-12));
  CHECK(clock.at(3) == clock.at(2));
  CHECK(clock.at(4) == Approx(2 * dense + compressed).epsilon(1e-12));
  CHECK(clock.at(5) == Approx(2 * dense + 2 * compressed).epsilon(1e-12));
  CHECK(clock.at(100) == clock.at(5));
  const ExchangeClock computing(stretches, 4, ring_cluster(), netmodel::LinkLoad(), 0.5);
  CHECK(computing.at(0) == 0);
  CHECK(computing.at(3) == Approx(1.5 + clock.at(3)).epsilon(1e-12));
  CHECK(ExchangeClock({}, 4, ring_cluster(), netmodel::LinkLoad(), 2).at(3) == 6);
}

TEST_CASE("exchanges: a cluster that cannot hold the workers is refused") {
  netmodel::Cluster cluster = ring_cluster();
  cluster.nodes = 3;
  CHECK_THROWS_AS(ExchangeClock({}, 4, cluster, netmodel::LinkLoad()), ConfigError);
}
