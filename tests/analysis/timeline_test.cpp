// Times computed by hand: 1 ms for each message, 1 GB/s, one worker per node.

#include "analysis/log/timeline.hpp"

#include "analysis/log/summary.hpp"
#include "device/base/error.hpp"
#include "netmodel/cost/cost_model.hpp"
#include "netmodel/cost/link_load.hpp"
#include "tests/analysis/runs.hpp"
#include "tests/netmodel/models.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;

namespace {

netmodel::Cluster ring_cluster() {
  netmodel::Cluster cluster = round_cluster();
  cluster.all_reduce = netmodel::Selection::ring;
  cluster.pairwise_all_to_all = true;
  return cluster;
}

/// Returns rules for four workers and 80 parameters: a step computes for 3 ms, and the update takes no time.
Timeline timeline(const std::vector<StepRange>& ranges, PriceRules rules = {}) {
  if (std::isnan(rules.optimizer.value)) rules.optimizer = netmodel::Seconds(0);
  netmodel::CostModelConfig config;
  config.name = "closed-form";
  const auto model = netmodel::make_cost_model(config);
  const netmodel::CodecPasses passes{.encode = 20, .serve = 16, .decode = 4};
  const RunSize run{.workers = 4, .parameters = 80, .batch = 1, .compute_seconds = 3e-3, .passes = passes};
  return {run, ranges, ring_cluster(), *model, rules};
}

/// A worker encodes and decodes 80 numbers and serves 20. It writes 20 and 5 bytes of payloads, and reads 20 of each.
double codec_seconds() {
  return (80 * 24 + 20 * 16 + 65) / netmodel::find_gpu(ring_cluster().gpu).memory.value;
}

// A step of a ring takes 1 ms with NCCL's protocol Simple and, with LL, 2.7 us and half of the excess over 14 us. A
// ring of 4 with LL: 6 messages and 2 * 3/4 of 320 bytes at half the rate. The packed vectors: 3 messages and 15 bytes
// up with Simple, 3 and 15 down with LL.
constexpr double kStep = 2.7e-6 + (1e-3 - 14e-6) / 2;
constexpr double dense_seconds = 6.6e-6 + 6 * kStep + 960e-9;
constexpr double packed_seconds = 8.4e-6 + 3e-3 + 15e-9 + 6.6e-6 + 3 * kStep + 30e-9;

std::vector<StepRange> two_stages() {
  return {{1, 2, dense_exchange(), optim::Phase::warmup},
          {3, 6, compressed_exchange(), optim::Phase::compression, true}};
}

}  // namespace

TEST_CASE("timeline: seconds of a run, computed by hand") {
  const Timeline run = timeline(two_stages());
  const double first = 3e-3 + dense_seconds, second = 3e-3 + packed_seconds + codec_seconds();
  CHECK(run.at(0) == 0);
  CHECK(run.at(1) == Approx(first).epsilon(1e-12));
  CHECK(run.at(2) == Approx(2 * first).epsilon(1e-12));
  CHECK(run.at(3) == Approx(2 * first + second).epsilon(1e-12));
  CHECK(run.at(6) == Approx(2 * first + 4 * second).epsilon(1e-12));
  CHECK(run.at(100) == run.at(6));
  REQUIRE(run.stages().size() == 2);
  CHECK((run.stages()[0].stage == "warmup" && run.stages()[0].steps == 2 && !run.stages()[0].compressed));
  CHECK((run.stages()[1].stage == "compression" && run.stages()[1].steps == 4 && run.stages()[1].compressed));
  CHECK(run.stages()[0].step.communication.value == Approx(dense_seconds).epsilon(1e-12));
  CHECK(run.stages()[0].step.codec.value == 0);
  CHECK(run.stages()[1].step.communication.value == Approx(packed_seconds).epsilon(1e-12));
  CHECK(run.stages()[1].step.codec.value == Approx(codec_seconds()).epsilon(1e-12));
  CHECK(run.stages()[1].step.forward.value + run.stages()[1].step.backward.value == Approx(3e-3));
}

TEST_CASE("timeline: a stage's mean counts steps without an exchange, which have no codec") {
  std::vector<StepRange> ranges;
  for (Index step = 1; step <= 9; step += 3) {
    ranges.push_back({step, step + 1, {}, optim::Phase::local, true});
    ranges.push_back({step + 2, step + 2, compressed_exchange(), optim::Phase::local, true});
  }
  const Timeline run = timeline(ranges);
  REQUIRE(run.stages().size() == 1);
  CHECK(run.stages()[0].steps == 9);
  CHECK(run.stages()[0].step.communication.value == Approx(packed_seconds / 3).epsilon(1e-12));
  CHECK(run.stages()[0].step.codec.value == Approx(codec_seconds() / 3).epsilon(1e-12));
  CHECK(run.at(2) == Approx(6e-3).epsilon(1e-12));
  CHECK(run.at(3) == Approx(9e-3 + packed_seconds + codec_seconds()).epsilon(1e-12));
  const CommunicationTime time = communication_of("round", run);
  CHECK(time.compressed_seconds == run.stages()[0].step.communication.value);
  CHECK(time.mean_seconds == time.compressed_seconds);
  CHECK(std::isnan(time.dense_seconds));
}

TEST_CASE("timeline: the bottleneck of a stage is that of its largest exchange, whatever their order") {
  netmodel::TrafficList large = dense_exchange();
  large[0].payload_bytes *= 1000;
  const netmodel::LinkLoad model;
  const auto bottleneck = [&](const std::vector<StepRange>& ranges) {
    const Timeline run({.workers = 4, .parameters = 80}, ranges, ring_cluster(), model);
    return run.stages().front().step.exchange.at_bottleneck.value;
  };
  const double largest = bottleneck({{1, 1, large, optim::Phase::dense}});
  CHECK(largest > 0);
  CHECK(bottleneck({{1, 1, large, optim::Phase::dense}, {2, 2, dense_exchange(), optim::Phase::dense}}) == largest);
  CHECK(bottleneck({{1, 1, dense_exchange(), optim::Phase::dense}, {2, 2, large, optim::Phase::dense}}) == largest);
}

TEST_CASE("timeline: stages that take turns are one each") {
  const std::vector<StepRange> ranges = {{1, 1, dense_exchange(), optim::Phase::warmup},
                                         {2, 3, compressed_exchange(), optim::Phase::compression, true},
                                         {4, 4, dense_exchange(), optim::Phase::warmup},
                                         {5, 8, compressed_exchange(), optim::Phase::compression, true}};
  const Timeline run = timeline(ranges);
  REQUIRE(run.stages().size() == 2);
  CHECK((run.stages()[0].steps == 2 && run.stages()[1].steps == 6));
  const double dense = run.at(1), packed = run.at(2) - run.at(1);
  CHECK(dense != Approx(packed));
  CHECK(run.at(4) == Approx(2 * dense + 2 * packed).epsilon(1e-12));
  CHECK(run.at(8) == Approx(2 * dense + 6 * packed).epsilon(1e-12));
}

TEST_CASE("timeline: a stage counts a kind of step again as long as at most 15 others came since") {
  for (const std::size_t kinds : {std::size_t{16}, std::size_t{17}}) {
    StageTraffic stage;
    const auto kind = [](std::size_t number) {
      netmodel::TrafficList exchange = dense_exchange();
      exchange[0].payload_bytes += static_cast<Index>(number);
      return netmodel::StepTraffic{exchange, 0};
    };
    for (std::size_t i = 0; i < kinds; ++i) stage.add(kind(i), 1);
    stage.add(kind(0), 2);
    CHECK(stage.kinds.size() == (kinds == 16 ? 16 : 18));
    CHECK(stage.steps() == static_cast<Index>(kinds) + 2);
  }
}

TEST_CASE("timeline: a sample of a stage has kinds of steps from all over it, and is all of it where that is enough") {
  StageTraffic stage{"local", {}, false};
  for (Index kind = 1; kind <= 5; ++kind) {
    netmodel::TrafficList exchanges = dense_exchange();
    exchanges[0].payload_bytes += kind;
    stage.add({exchanges, 0}, kind);
  }
  REQUIRE(stage.steps() == 15);
  const StageTraffic some = stage.sample(2);
  REQUIRE(some.kinds.size() == 2);
  CHECK((some.name == "local" && some.kinds[0].count == 1 && some.kinds[1].count == 3));
  CHECK(stage.sample(4).kinds[3].count == 4);  // places 0, 1, 2 and 3 of 5
  CHECK(stage.sample(5).steps() == 15);
  CHECK(stage.sample(9).steps() == 15);
}

TEST_CASE("timeline: times that are given replace the run's own") {
  const PriceRules rules{.forward = netmodel::Seconds(1), .backward = netmodel::Seconds(2)};
  CHECK_FALSE(measures_computing(rules));
  CHECK(measures_computing({}));
  CHECK(measures_computing({.forward = netmodel::Seconds(1)}));
  CHECK(timeline({{1, 2, {}}}, rules).at(2) == Approx(6).epsilon(1e-12));
  CHECK(timeline({{1, 2, {}}}).at(2) == Approx(6e-3).epsilon(1e-12));
  CHECK(timeline({}).at(2) == 0);
}

TEST_CASE("timeline: a cluster that cannot hold the workers is refused") {
  netmodel::Cluster cluster = ring_cluster();
  cluster.nodes = 3;
  CHECK_THROWS_AS(Timeline({.workers = 4, .parameters = 80}, {}, cluster, netmodel::LinkLoad()), ConfigError);
}

TEST_CASE("a workload's model may differ by a tenth, and no more") {
  netmodel::Workload workload;
  workload.name = "hundred";
  workload.parameters = 100;
  check_fits(workload, 110, "a.h5");
  check_fits(workload, 90, "a.h5");
  CHECK_THROWS_WITH(check_fits(workload, 111, "a.h5"),
                    Catch::Matchers::Contains("a.h5 has 111 parameters, workload hundred has 100"));
  CHECK_THROWS_WITH(check_fits(workload, 89, "a.h5"), Catch::Matchers::Contains("another model"));
  workload.parameters = 0;
  check_fits(workload, 5, "a.h5");
}

TEST_CASE("timeline: only gradients change their type and hide behind the backward pass") {
  PriceRules rules{.forward = netmodel::Seconds(0), .backward = netmodel::Seconds(1)};
  rules.step = {.overlap = netmodel::Overlap::buckets, .stretch = 0, .gradient_bytes = 2};
  const auto step = [&](bool gradients) {
    const StepRange range{1, 1, dense_exchange(), optim::Phase::local, false, gradients};
    return timeline({range}, rules).stages().front().step;
  };
  CHECK(step(false).communication.value == Approx(dense_seconds).epsilon(1e-12));
  CHECK(step(true).all_communication.value == Approx(dense_seconds - 480e-9).epsilon(1e-12));  // half the bytes
  const double exposed = step(true).communication.value;  // there is a single bucket
  CHECK(exposed == Approx(step(true).all_communication.value).epsilon(1e-12));
}
