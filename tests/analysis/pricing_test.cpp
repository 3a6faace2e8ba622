// Jobs and their prices, without the program that prints them.

#include <cmath>

#include "analysis/pricing/price_sweep.hpp"
#include "device/base/error.hpp"
#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::analysis;
using Catch::Matchers::Contains;

namespace {

JobPlan bert_plan(const std::string& optimizer) {
  JobPlan plan;
  plan.rules.workload = netmodel::find_workload("bert-large");
  plan.rules.step.gradient_bytes = 2;
  plan.run.optimizer.name = optimizer;
  plan.run.batch = 16;
  plan.workers = 64;
  return plan;
}

netmodel::Cluster infiniband() {
  return netmodel::find_cluster("paper-infiniband");
}

std::string refusal_of(const JobPlan& plan, const netmodel::Cluster& cluster) {
  try {
    plan_job(plan, cluster);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("pricing: a job has the stages of its optimizer, next to dense Adam") {
  const Job adam = plan_job(bert_plan("adam"), infiniband());
  CHECK(adam.workers == 64);
  CHECK(adam.stages.size() == 1);
  CHECK(adam.warmup_share == 0);
  const Job compressed = plan_job(bert_plan("onebit-adam"), infiniband());
  REQUIRE(compressed.stages.size() == 2);
  CHECK(compressed.stages.back().name == "compression");
  CHECK(compressed.warmup_share == 0.15);
}

TEST_CASE("pricing: the warm-up share is what was asked for, else that of the freeze policy, else 0.15") {
  const auto share = [](const std::string& policy, double asked = PriceRules::kNotGiven) {
    JobPlan plan = bert_plan("onebit-adam");
    plan.run.optimizer.freeze.policy = policy;
    plan.warmup_share = asked;
    return plan_job(plan, infiniband()).warmup_share;
  };
  CHECK(share("fraction:0.3") == 0.3);
  CHECK(share("auto") == 0.15);
  CHECK(share("fraction:0.3", 0.2) == 0.2);
  CHECK_THROWS_WITH(share("fraction:2"), Contains("in (0, 1)"));
}

TEST_CASE("pricing: what cannot be planned is refused, with a hint") {
  JobPlan plan = bert_plan("onebit-adam");
  plan.workers = 0;
  netmodel::Cluster open = infiniband();
  open.nodes = 0;
  CHECK_THAT(refusal_of(plan, open), Contains("the number of workers is not known") && Contains("--workers"));
  plan = bert_plan("onebit-adam");
  plan.rules.workload->parameters = 0;
  CHECK_THAT(refusal_of(plan, infiniband()), Contains("the workload has no parameters"));
  plan.parameters = 1000;
  CHECK(plan_job(plan, infiniband()).workload.parameters == 1000);
  CHECK_THAT(refusal_of(bert_plan("cada1"), infiniband()), Contains("depends on the data"));
}

TEST_CASE("pricing: at the break-even rate both take the same time, and a slower network favours compression") {
  JobPlan plan = bert_plan("onebit-adam");
  plan.rules.step.codec = netmodel::CodecKernels::released;
  const Job job = plan_job(plan, infiniband());
  const ClusterPrice price = price_job(job, infiniband(), {});
  REQUIRE(price.break_even);
  const auto model = netmodel::make_cost_model({});
  const auto at = [&](double factor) {
    return speedup_at(job, with_rate(infiniband(), factor * *price.break_even), *model);
  };
  CHECK(at(1) == Approx(1).epsilon(1e-5));
  CHECK(at(0.5) > 1);
  CHECK(at(2) < 1);
  CHECK(price.speedup == Approx(price.dense.step.step / price.stages.back().step.step));
  CHECK(price.dense.samples_per_second * price.dense.step.step.value == Approx(64 * 16));
}

TEST_CASE("pricing: the end-to-end speed-up weighs the stages by their shares of the steps") {
  JobPlan plan = bert_plan("onebit-adam");
  plan.warmup_share = 0.25;
  const ClusterPrice price = price_job(plan_job(plan, infiniband()), infiniband(), {});
  const double warmup = price.stages[0].step.step.value, last = price.stages[1].step.step.value;
  CHECK(price.end_to_end_speedup == Approx(price.dense.step.step.value / (0.25 * warmup + 0.75 * last)));
}

TEST_CASE("pricing: another rate changes nominal, effective and stream cap in proportion") {
  netmodel::Cluster cluster = infiniband();
  cluster.nic.stream_cap = netmodel::BytesPerSecond(1e9);
  const netmodel::Cluster slow = with_rate(cluster, 0.25 * cluster.nic.effective);
  CHECK(slow.nic.effective.value == Approx(0.25 * cluster.nic.effective.value));
  CHECK(slow.nic.nominal.value == Approx(0.25 * cluster.nic.nominal.value));
  CHECK(slow.nic.stream_cap.value == Approx(0.25e9));
  CHECK(slow.nic.latency.value == cluster.nic.latency.value);
}

TEST_CASE("pricing: rates of a sweep have equal ratios, and a curve per width") {
  const std::vector<double> rates = spaced_rates(1e8, 1.6e9, 5);
  const std::vector<double> expected = {1e8, 2e8, 4e8, 8e8, 1.6e9};
  for (std::size_t i = 0; i < 5; ++i) CHECK(rates[i] == Approx(expected[i]));
  const Job job = plan_job(bert_plan("onebit-adam"), infiniband());
  const auto curves = sweep_bandwidth(job, infiniband(), {}, rates, {1, 8});
  REQUIRE(curves.size() == 2);
  CHECK(curves[0].gpus_per_node == 1);
  CHECK(curves[1].gpus_per_node == 8);
  CHECK(curves[0].speedups.size() == 5);
  CHECK(curves[0].speedups.front() > curves[0].speedups.back());
  CHECK(sweep_bandwidth(job, infiniband(), {}, rates, {}).front().gpus_per_node == infiniband().gpus_per_node);
}

TEST_CASE("pricing: weak scaling keeps a GPU's batch, strong scaling the samples of a step") {
  const ScalingPrice scaling = sweep_nodes(bert_plan("onebit-adam"), infiniband(), {}, {2, 4, 3});
  REQUIRE(scaling.weak.size() == 3);
  for (const ScalingPoint& point : scaling.weak) {
    CHECK(point.batch == 16);
    CHECK(point.workers == point.nodes * infiniband().gpus_per_node);
  }
  CHECK(scaling.strong[0].batch == 16);
  CHECK(scaling.strong[1].batch == 8);
  CHECK(std::isnan(scaling.strong[2].dense));  // 32 samples do not divide among 3
}
