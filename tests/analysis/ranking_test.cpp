// Optimizers in the order of their speed on a cluster.

#include "analysis/pricing/ranking.hpp"

#include "device/base/error.hpp"
#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::analysis;
using Catch::Matchers::Contains;

namespace {

std::vector<JobPlan> plans(const std::vector<std::string>& optimizers) {
  std::vector<JobPlan> all;
  for (const std::string& optimizer : optimizers) {
    JobPlan plan;
    plan.rules.workload = netmodel::find_workload("bert-large");
    plan.rules.step.gradient_bytes = 2;
    plan.run.optimizer.name = optimizer;
    plan.run.batch = 16;
    plan.workers = 16;
    all.push_back(plan);
  }
  return all;
}

Ranking ranking(const std::vector<std::string>& optimizers, double uncertainty = 0) {
  netmodel::Cluster cluster = netmodel::find_cluster("eth10");
  cluster.uncertainty = uncertainty;
  return rank(plans(optimizers), cluster, {});
}

}  // namespace

TEST_CASE("ranking: the fastest first, by its whole run, with the prices of each") {
  const Ranking ranks = ranking({"adam", "onebit-adam", "ef-sgd"});
  REQUIRE(ranks.methods.size() == 3);
  CHECK(ranks.methods[0].optimizer == "ef-sgd");  // no warm-up
  CHECK(ranks.methods[1].optimizer == "onebit-adam");
  CHECK(ranks.methods[2].optimizer == "adam");
  CHECK((ranks.methods[0].compresses && ranks.methods[1].compresses && !ranks.methods[2].compresses));
  CHECK((ranks.methods[0].codec == "sign-l2" && ranks.methods[2].codec.empty()));
  const RankedMethod& onebit = ranks.methods[1];
  const Job job = plan_job(plans({"onebit-adam"}).front(), ranks.cluster);
  const ClusterPrice price = price_job(job, ranks.cluster, {});
  CHECK(onebit.speedup.value == price.end_to_end_speedup);
  CHECK(onebit.samples_per_second.value == price.dense.samples_per_second * price.end_to_end_speedup);
  const double dense = price.dense.step.step.value, last = price.stages.back().step.step.value;
  CHECK(onebit.samples_per_second.value == Approx(16 * 16 / (0.15 * dense + 0.85 * last)));
  CHECK(ranks.dense.value == price.dense.samples_per_second);
  CHECK(ranks.methods[2].samples_per_second.value == Approx(ranks.dense.value));
  CHECK((ranks.nodes == 16 && ranks.width == 1 && ranks.batch == 16 && ranks.workload == "bert-large"));
}

TEST_CASE("ranking: the range is that of links which are slower and faster by the cluster's uncertainty") {
  const Ranking quarter = ranking({"onebit-adam"}, 0.25);
  const auto speedup = [&](double factor) {
    const netmodel::Cluster cluster = netmodel::with_faster_links(quarter.cluster, factor);
    return price_job(plan_job(plans({"onebit-adam"}).front(), cluster), cluster, {}).end_to_end_speedup;
  };
  const RankedMethod& method = quarter.methods.front();
  CHECK(method.speedup.low == Approx(std::min(speedup(0.8), speedup(4 / 3.0))).epsilon(1e-9));
  CHECK(method.speedup.high == Approx(std::max(speedup(0.8), speedup(4 / 3.0))).epsilon(1e-9));
  CHECK((method.speedup.low < method.speedup.value && method.speedup.value < method.speedup.high));
  CHECK((quarter.dense.low < quarter.dense.value && quarter.dense.value < quarter.dense.high));
  CHECK(ranking({"onebit-adam"}, 0.01).methods.front().speedup.low > method.speedup.low);
}

TEST_CASE("ranking: an uncertainty is the cluster's own, or that of its source") {
  netmodel::Cluster cluster;
  cluster.source = netmodel::Source::estimated;
  const double estimated = netmodel::uncertainty_of(cluster);
  cluster.source = netmodel::Source::fitted;
  CHECK(netmodel::uncertainty_of(cluster) < estimated);
  cluster.uncertainty = 0.03;
  CHECK(netmodel::uncertainty_of(cluster) == 0.03);
  const netmodel::Cluster base = netmodel::find_cluster("eth10"), fast = netmodel::with_faster_links(base, 2);
  CHECK(fast.nic.effective.value == 2 * base.nic.effective.value);
  CHECK(fast.nic.nominal >= fast.nic.effective);
  CHECK(fast.gpu_link.latency.value == base.gpu_link.latency.value / 2);
  CHECK(fast.gpu_link.effective.value == 2 * base.gpu_link.effective.value);
  CHECK(fast.nic.latency.value == base.nic.latency.value / 2);
  CHECK(ranking({"local-sgd", "adam"}).methods.front().rare);
  CHECK_FALSE(ranking({"onebit-adam"}).methods.front().rare);
}

TEST_CASE("ranking: optimizers with the same steps share a row, unless their codecs differ") {
  std::vector<JobPlan> all = plans({"adam", "sgd", "lamb", "ef-sgd", "ef21", "ef-sgd"});
  all.back().run.optimizer.exchange.up.name = "sign-block";
  const Ranking ranks = rank(all, netmodel::find_cluster("eth10"), {});
  REQUIRE(ranks.methods.size() == 3);
  const auto dense = std::ranges::find(ranks.methods, "adam", &RankedMethod::optimizer);
  CHECK(dense->same == std::vector<std::string>{"sgd", "lamb"});
  CHECK(dense->speedup.low == 1);
  CHECK(dense->speedup.high == 1);
}

TEST_CASE("ranking: what cannot be planned is listed, and refused if nothing else is left") {
  const Ranking ranks = ranking({"adam", "cada1"});
  CHECK(ranks.methods.size() == 1);
  REQUIRE(ranks.refused.size() == 1);
  CHECK(ranks.refused[0].first == "cada1");
  CHECK_THAT(ranks.refused[0].second, Contains("depends on the data"));
  CHECK_THROWS_WITH(ranking({"cada1", "cada2"}), Contains("how much cada1 sends depends on the data"));
}

TEST_CASE("ranking: a step waits for its longest part, an exchange for latency or for links") {
  using netmodel::Seconds;
  netmodel::StepEstimate step;
  step.forward = Seconds(1);
  step.backward = Seconds(2);
  step.communication = Seconds(2.9);
  CHECK(waits_for(step) == WaitsFor::computing);
  step.communication = Seconds(3.1);
  step.exchange.bandwidth = Seconds(2);
  step.exchange.latency = Seconds(1.1);
  step.exchange.bottleneck.kind = netmodel::Link::Kind::nic_out;
  CHECK(waits_for(step) == WaitsFor::network);
  step.exchange.bottleneck.kind = netmodel::Link::Kind::gpu_in;
  CHECK(waits_for(step) == WaitsFor::gpu_links);
  step.exchange.latency = Seconds(2.1);
  CHECK(waits_for(step) == WaitsFor::latency);
  step.codec = Seconds(4);
  CHECK(waits_for(step) == WaitsFor::codec);
  step.optimizer = Seconds(5);
  CHECK(waits_for(step) == WaitsFor::update);
}
