#include "netmodel/cost/table_model.hpp"

#include <cmath>

#include "device/base/error.hpp"
#include "netmodel/cost/link_load.hpp"
#include "tests/catch.hpp"
#include "tests/folder.hpp"
#include "tests/netmodel/models.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

Cluster ring_cluster() {
  Cluster cluster = round_cluster(4);
  cluster.all_reduce = Selection::ring;
  return cluster;
}

double seconds(const CostModel& model, Index ranks, const Request& r) {
  return cost(model, ring_cluster(), ranks, r).total.value;
}

CostModelConfig of(const std::string& name, const std::string& table) {
  CostModelConfig config;
  config.name = name;
  if (!table.empty()) config.table = {table};
  return config;
}

}  // namespace

TEST_CASE("measured times are looked up and interpolated") {
  const Folder folder;
  write_file(folder / "rows.csv",
             "collective,nodes,gpus,bytes,seconds\nall_reduce,2,4,1e6,1e-3\nall_reduce,2,4,1e8,1e-2\n"
             "all_to_all,2,4,1e6,5e-3\nall_reduce,1,4,1e6,1e-4\n");
  const TableModel model(read_measurements(folder / "rows.csv"));
  using C = Collective;
  using A = Algorithm;
  CHECK(seconds(model, 8, request(C::all_reduce, A::ring, 1e6)) == Approx(1e-3));
  CHECK(seconds(model, 8, request(C::all_reduce, A::tree, 1e7)) == Approx(std::sqrt(1e-5)));  // half way, in logarithms
  // Below the smallest in the ratio of link-load's estimates
  const auto estimated = [&](const CostModel& by, double bytes) {
    return price(C::all_reduce, Bytes(bytes), Fabric(ring_cluster(), 8), by).estimate.total.value;
  };
  CHECK(estimated(model, 10) == Approx(1e-3 * estimated(LinkLoad(), 10) / estimated(LinkLoad(), 1e6)));
  CHECK(seconds(model, 8, request(C::all_reduce, A::ring, 1e9)) == Approx(0.1));
  CHECK(seconds(model, 4, request(C::all_reduce, A::ring, 1e7)) == Approx(1e-3));
  CHECK(seconds(model, 8, request(C::all_to_all, A::burst, 1e6)) == Approx(5e-3));
  // An all-gather of 1/8 of the bytes from each sends half of what the all-reduce sends: at its bus bandwidth of 1e8.
  CHECK(seconds(model, 8, request(C::all_gather, A::ring, 1e8 / 8 * 2)) == Approx(1e-2));
  CHECK(seconds(model, 1, request(C::all_reduce, A::ring, 1e6)) == 0);
  CHECK_THROWS_WITH(seconds(model, 16, request(C::all_reduce, A::ring, 1e6)), Contains("4 nodes of 4 GPUs"));
  const Estimate estimate = cost(model, round_cluster(4), 8, request(C::all_reduce, A::ring, 1e6));
  CHECK(estimate.nic_bytes.value == Approx(2 * 7 / 8.0 * 1e6));
}

TEST_CASE("several times of one size count as their mean, in any order") {
  const std::vector<Measurement> rows = {{2, 4, Bytes(1e6), Seconds(1e-3)},
                                         {2, 4, Bytes(1e8), Seconds(3e-2)},
                                         {2, 4, Bytes(1e6), Seconds(2e-3)},
                                         {2, 4, Bytes(1e8), Seconds(1e-2)},
                                         {2, 4, Bytes(1e6), Seconds(6e-3)}};
  for (const TableModel& model : {TableModel(rows), TableModel({rows.rbegin(), rows.rend()})}) {
    const auto at = [&](double bytes) {
      return seconds(model, 8, request(Collective::all_reduce, Algorithm::ring, bytes));
    };
    CHECK(at(1e6) == Approx(3e-3));
    CHECK(at(1e7) == Approx(std::sqrt(3e-3 * 2e-2)));
    CHECK(at(1e8) == Approx(2e-2));
    CHECK(at(2e8) == Approx(4e-2));
  }
}

TEST_CASE("GPUs that share a network link slow down what was not measured") {
  // A table of all-reduces as link-load prices them gives the prices of link-load for everything else, if bytes
  // dominate.
  Cluster cluster = round_cluster(8);
  cluster.nic.latency = cluster.gpu_link.latency = Seconds(0);
  cluster.gpu = "h100";
  const auto links = make_cost_model({});
  using C = Collective;
  for (const Selection choice : {Selection::ring, Selection::hierarchical}) {
    cluster.all_reduce = choice;
    for (const Index nodes : {1, 2, 4, 16}) {
      const Fabric fabric(cluster, 8 * nodes);
      std::vector<Measurement> rows;
      for (const double bytes : {1e6, 1e8, 1e10}) {
        rows.push_back({nodes, 8, Bytes(bytes), price(C::all_reduce, Bytes(bytes), fabric, *links).estimate.total});
      }
      const TableModel table(rows);
      for (const C collective : {C::all_to_all, C::all_gather, C::broadcast, C::reduce_scatter}) {
        CAPTURE(name(choice), nodes, name(collective));
        const Bytes bytes(collective == C::all_gather ? 1e8 / (8.0 * static_cast<double>(nodes)) : 1e8);
        const double wanted = price(collective, bytes, fabric, *links).estimate.bandwidth.value;
        CHECK(price(collective, bytes, fabric, table).estimate.total.value == Approx(wanted).epsilon(0.03));
      }
    }
  }
}

TEST_CASE("a table that is extended says what was measured") {
  std::vector<std::string> told;
  const TableModel model({{2, 4, Bytes(1e6), Seconds(1e-3)}, {2, 4, Bytes(1e8), Seconds(1e-2)}},
                         [&](const std::string& text) { told.push_back(text); });
  using C = Collective;
  for (const double bytes : {1e6, 2e7, 1e8}) seconds(model, 8, request(C::all_reduce, Algorithm::ring, bytes));
  CHECK(told.empty());
  seconds(model, 8, request(C::all_reduce, Algorithm::ring, 9e5));
  seconds(model, 8, request(C::all_reduce, Algorithm::ring, 2e8));
  seconds(model, 8, request(C::all_to_all, Algorithm::burst, 1e7));
  REQUIRE(told.size() == 3);
  CHECK_THAT(told[0], Contains("2 nodes of 4 GPUs: all_reduce of 1 MB to 100 MB"));
  CHECK((told[1] == told[0] && told[2] == told[0]));
}

TEST_CASE("a table needs a file, and nothing else takes one") {
  CHECK_THROWS_WITH(make_cost_model(of("table", "")), Contains("--cost-table"));
  CHECK_THROWS_WITH(make_cost_model(of("fluid", "rows.csv")), Contains("has no effect"));
  CHECK_THROWS_AS(make_cost_model(of("table", "/nowhere")), ConfigError);
  const Folder folder;
  write_file(folder / "rows.csv", "collective,nodes,gpus,bytes,seconds\nall_reduced,2,4,1e6,1e-3\n");
  CHECK_THROWS_WITH(make_cost_model(of("table", folder / "rows.csv")), Contains("unknown collective: all_reduced"));
}
