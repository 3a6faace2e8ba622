#include "netmodel/cluster.hpp"

#include "device/error.hpp"
#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::netmodel;

TEST_CASE("presets are found by name") {
  CHECK(find_cluster("eth1").link.effective.value == Approx(0.117e9));
  CHECK(find_cluster("eth10").link.latency.value == Approx(35e-6));
  CHECK(find_cluster("eth25").link.nominal.value == Approx(3.125e9));
  CHECK(find_cluster("ib100").source == Source::published);
  CHECK(name(find_cluster("eth1").source) == "estimated");
}

TEST_CASE("every preset is complete, and no link gives more than it is sold as") {
  REQUIRE(clusters().size() == 4);
  for (const Cluster& cluster : clusters()) {
    CAPTURE(cluster.name);
    CHECK(&find_cluster(cluster.name) == &cluster);
    CHECK_FALSE(cluster.doc.empty());
    CHECK(cluster.link.effective.value > 0);
    CHECK(cluster.link.effective <= cluster.link.nominal);
    CHECK(cluster.link.latency.value > 0);
  }
}

TEST_CASE("an unknown preset is an error that suggests names") {
  CHECK_THROWS_AS(find_cluster("eth2"), ConfigError);
  CHECK_THROWS_WITH(find_cluster("eth2"), "unknown cluster \"eth2\"; did you mean eth1?");
  CHECK_THROWS_WITH(find_cluster("token-ring"), "unknown cluster \"token-ring\"; one of eth1, eth10, eth25, ib100");
  CHECK_THROWS_AS(find_cluster(""), ConfigError);
}
