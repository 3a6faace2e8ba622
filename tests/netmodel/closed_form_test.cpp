#include "netmodel/closed_form.hpp"

#include "device/error.hpp"
#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::netmodel;

namespace {

constexpr auto collectives = {Collective::all_reduce, Collective::all_to_all, Collective::all_gather, Collective::tree};

Traffic record(Collective collective, Index workers, Index payload) {
  Traffic traffic;
  traffic.collective = collective;
  traffic.group_size = workers;
  traffic.payload_bytes = payload;
  return traffic;
}

/// Round numbers: 1 GB/s of a nominal 2, a millisecond a step.
Cluster round_cluster(double bytes_per_second = 1e9, double latency = 1e-3) {
  return {"round",
          "for tests",
          Source::estimated,
          {BytesPerSecond(2e9), BytesPerSecond(bytes_per_second), Seconds(latency)}};
}

double seconds(const Traffic& traffic, const Cluster& cluster) {
  return ClosedForm().cost(traffic, cluster).total.value;
}

}  // namespace

TEST_CASE("costs computed by hand") {
  const Cluster cluster = round_cluster();
  const Estimate reduce = ClosedForm().cost(record(Collective::all_reduce, 4, 1'000'000'000), cluster);
  CHECK(reduce.latency.value == Approx(0.006));  // 6 steps of 1 ms
  CHECK(reduce.bandwidth.value == Approx(1.5));  // 2 * 3/4 of 1 GB at 1 GB/s
  CHECK(reduce.total.value == Approx(1.506));
  CHECK(seconds(record(Collective::all_to_all, 4, 1'000'000'000), cluster) == Approx(0.003 + 0.75));
  CHECK(seconds(record(Collective::all_gather, 4, 250'000'000), cluster) == Approx(0.003 + 0.75));
  CHECK(seconds(record(Collective::tree, 4, 250'000'000), cluster) == Approx(0.002 + 0.5));
  // BERT-Large in fp16 (680 MB) on 16 nodes of 10 Gb/s Ethernet: 30 * 35 us + 1.875 * 680 MB / 1.1 GB/s
  CHECK(seconds(record(Collective::all_reduce, 16, 680'000'000), find_cluster("eth10")) == Approx(1.160140909));
}

TEST_CASE("one worker pays nothing") {
  for (const auto collective : collectives) CHECK(seconds(record(collective, 1, 1 << 20), round_cluster()) == 0);
}

TEST_CASE("more bytes, more workers and a slower link cost more") {
  for (const auto collective : collectives) {
    for (const Cluster& cluster : clusters()) {
      CAPTURE(name(collective), cluster.name);
      double previous = seconds(record(collective, 8, 0), cluster);
      for (Index bytes = 1; bytes < Index{1} << 34; bytes *= 8) {
        const double now = seconds(record(collective, 8, bytes), cluster);
        CHECK(now > previous);
        previous = now;
      }
      previous = 0;
      for (Index workers = 2; workers < 1025; workers *= 2) {
        const double now = seconds(record(collective, workers, 1 << 20), cluster);
        CHECK(now > previous);
        previous = now;
      }
    }
    CHECK(seconds(record(collective, 8, 1 << 20), round_cluster(1e8)) >
          seconds(record(collective, 8, 1 << 20), round_cluster(1e9)));
  }
}

TEST_CASE("no all-reduce beats the lower bound of its bytes at line rate") {
  for (const Cluster& cluster : clusters()) {
    for (const Index workers : {2, 3, 8, 64}) {
      const double bytes = 2.0 * static_cast<double>(workers - 1) / static_cast<double>(workers) * 1e8;
      CHECK(seconds(record(Collective::all_reduce, workers, 100'000'000), cluster) >=
            bytes / cluster.link.nominal.value);
    }
  }
}

TEST_CASE("on bytes alone a 1-bit exchange is 16 times cheaper than the fp16 all-reduce") {
  const Cluster cluster = round_cluster(1e9, 0);
  for (const Index workers : {2, 4, 64}) {
    const Index parameters = 8 * 64 * 1000;
    const TrafficList compressed = {record(Collective::all_to_all, workers, parameters / 8),
                                    record(Collective::all_gather, workers, parameters / (8 * workers))};
    const double dense = seconds(record(Collective::all_reduce, workers, 2 * parameters), cluster);
    CHECK(dense / total_cost(ClosedForm(), compressed, cluster).total.value == Approx(16).epsilon(1e-12));
  }
}

TEST_CASE("a list costs the sum of its records, an empty one nothing") {
  const Cluster& cluster = find_cluster("ib100");
  const TrafficList list = {record(Collective::all_to_all, 8, 1 << 20), record(Collective::all_gather, 8, 1 << 17)};
  const Estimate sum = total_cost(ClosedForm(), list, cluster);
  CHECK(sum.total.value == Approx(seconds(list[0], cluster) + seconds(list[1], cluster)));
  CHECK(sum.total.value == Approx(sum.latency.value + sum.bandwidth.value));
  CHECK(total_cost(ClosedForm(), {}, cluster).total.value == 0);
}

TEST_CASE("a link without speed is refused") {
  CHECK_THROWS_AS(seconds(record(Collective::all_reduce, 2, 8), round_cluster(0)), ConfigError);
  CHECK_THROWS_AS(seconds(record(Collective::all_reduce, 2, 8), round_cluster(1e9, -1)), ConfigError);
}
