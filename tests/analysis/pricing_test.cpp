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
  for (const std::string optimizer : {"ef-sgd", "onebit-adam"}) {
    plan = bert_plan(optimizer);
    plan.run.optimizer.exchange.up = {.name = "top-k", .packing = "delta"};
    CHECK_THAT(refusal_of(plan, infiniband()), Contains("codec top-k sends depends on the data"));
    plan.run.optimizer.exchange.up.name = "threshold";
    CHECK_THAT(refusal_of(plan, infiniband()), Contains("codec threshold sends depends on the data"));
  }
}

TEST_CASE("pricing: a plan takes neither memory nor time in proportion to the model") {
  for (const std::string optimizer : {"adam", "onebit-adam", "onebit-lamb", "zeroone-adam", "local-adam", "diloco"}) {
    JobPlan plan = bert_plan(optimizer);
    plan.parameters = 1'000'000'000'000;  // 4 TB for a single vector
    CAPTURE(optimizer);
    CHECK(plan_job(plan, infiniband()).stages.back().steps() > 0);
  }
  JobPlan plan = bert_plan("adam");
  plan.parameters = Index{1} << 40;
  plan.workers = Index{1} << 17;
  CHECK_THAT(refusal_of(plan, infiniband()), Contains("too many parameters"));
}

TEST_CASE("pricing: 0/1 Adam's stages are means over the steps of a run") {
  JobPlan plan = bert_plan("zeroone-adam");
  plan.run.optimizer.zeroone = {
      .var_freeze_step = 20, .var_update_scaler = 2, .local_step_scaler = 4, .local_step_clipper = 4};
  plan.run.steps = 60;
  const Job job = plan_job(plan, infiniband());
  REQUIRE(job.schedule);
  CHECK((job.schedule->steps == 60 && !job.schedule->assumed));
  REQUIRE(job.stages.size() == 3);
  CHECK((job.stages[0].name == "warmup" && job.stages[0].steps() == 7));
  CHECK((job.stages[1].name == "compression" && job.stages[1].steps() == 13));
  CHECK((job.stages[2].name == "local" && job.stages[2].steps() == 40));
  CHECK(job.warmup_share == Approx(20 / 60.0));
  const ClusterPrice price = price_job(job, infiniband(), {});
  const auto bytes = [&](std::size_t stage) { return price.stages[stage].step.exchange.nic_bytes.value; };
  // FFF1F1F111F111F11111SSSSS.S...S...S...S...S...S...S...S...SS, where the last step of the run synchronises
  CHECK(bytes(2) == Approx(15 / 40.0 * bytes(1)));
  const auto seconds = [&](std::size_t stage) { return price.stages[stage].step.step.value; };
  const double run = 7 * seconds(0) + 13 * seconds(1) + 40 * seconds(2);
  CHECK(price.end_to_end_speedup == Approx(60 * price.dense.step.step.value / run));
}

TEST_CASE("pricing: without its steps, a run of 0/1 Adam is just long enough for the share of its warm-up") {
  JobPlan plan = bert_plan("zeroone-adam");
  const Job usual = plan_job(plan, infiniband());
  REQUIRE(usual.schedule);
  CHECK((usual.schedule->steps == 666'667 && usual.schedule->assumed));
  const auto& local = usual.stages.back();
  CHECK((local.steps() == 566'667 && local.kinds.size() == 2));
  CHECK(std::max(local.kinds[0].count, local.kinds[1].count) == 478'148);  // steps without an exchange
  CHECK(usual.warmup_share == Approx(0.15));
  plan.warmup_share = 0.5;
  CHECK(plan_job(plan, infiniband()).schedule->steps == 200'000);
  plan.run.steps = 1000;
  CHECK_THAT(refusal_of(plan, infiniband()), Contains("give only one of the two"));
  plan.warmup_share = PriceRules::kNotGiven;
  CHECK(plan_job(plan, infiniband()).stages.back().name == "compression");  // the run ends before the freeze
  plan.run.steps = 1'000'000'000;
  CHECK_THAT(refusal_of(plan, infiniband()), Contains("too many steps"));
  plan.run.steps = 0;
  plan.warmup_share = 0;
  CHECK_THAT(refusal_of(plan, infiniband()), Contains("give a share above 0"));
  plan.run.optimizer.zeroone.var_update_scaler = 0;
  plan.warmup_share = 0.5;
  CHECK_THAT(refusal_of(plan, infiniband()), Contains("var-update-scaler"));
  CHECK_FALSE(plan_job(bert_plan("onebit-adam"), infiniband()).schedule);
}

TEST_CASE("pricing: local steps synchronise once a period and at the end of the run") {
  JobPlan plan = bert_plan("local-sgd");
  plan.run.optimizer.local.period = 10'000;
  const auto share = [&](Index steps) {
    plan.run.steps = steps;
    const ClusterPrice price = price_job(plan_job(plan, infiniband()), infiniband(), {});
    return price.stages.back().step.exchange.nic_bytes / (2 * price.dense.step.exchange.nic_bytes);  // float32
  };
  CHECK(share(0) == Approx(1e-4));
  CHECK(share(25'000) == Approx(3 / 25'000.0));
}

TEST_CASE("pricing: weights, moments and momenta follow the update in float32, gradients do not") {
  const auto last_stage = [](const std::string& optimizer, netmodel::Overlap overlap) {
    JobPlan plan = bert_plan(optimizer);
    plan.rules.step.overlap = overlap;
    plan.rules.step.stretch = 0;
    plan.run.optimizer.local.period = 1;
    plan.run.optimizer.zeroone.var_freeze_step = 2;
    return price_job(plan_job(plan, infiniband()), infiniband(), {}).stages.back().step;
  };
  const double gradient = last_stage("adam", netmodel::Overlap::none).exchange.nic_bytes.value;
  const std::vector<std::pair<std::string, double>> states = {
      {"local-sgd", 2}, {"local-adam", 6}, {"diloco", 2}, {"onebit-adam-32", 2}, {"onebit-lamb-32", 2}};
  for (const auto& [optimizer, gradients] : states) {
    CAPTURE(optimizer);
    const netmodel::StepEstimate step = last_stage(optimizer, netmodel::Overlap::buckets);
    CHECK(step.exchange.nic_bytes.value == Approx(gradients * gradient));
    CHECK(step.communication == step.all_communication);
    CHECK(step.step == last_stage(optimizer, netmodel::Overlap::none).step);
  }
  for (const std::string optimizer : {"adam", "sgd", "zeroone-adam-32"}) {
    CAPTURE(optimizer);
    const netmodel::StepEstimate step = last_stage(optimizer, netmodel::Overlap::buckets);
    CHECK(step.exchange.nic_bytes.value == Approx(gradient));
    CHECK(step.communication < step.all_communication);
  }
}

TEST_CASE("pricing: PowerSGD sends factors of the workload's matrices, and its vectors together") {
  JobPlan plan = bert_plan("ef-momentum-sgd");
  plan.run.optimizer.exchange.up = {.name = "power-sgd", .rank = 2};
  const Job job = plan_job(plan, infiniband());
  const netmodel::StepTraffic& step = job.stages.back().kinds.front().traffic;
  CHECK(step.compressed == 336'226'108);
  Index bytes = 0;
  for (const netmodel::Traffic& traffic : step.exchanges) bytes += traffic.payload_bytes;
  // 24 layers with 4 matrices of 1024 x 1024 and 2 of 1024 x 4096; 2 more of 1024 x 1024; the embeddings of words and
  // positions. Two rows are not worth factors.
  const Index sides = 24 * (4 * 2048 + 2 * 5120) + 2 * 2048 + (30'522 + 1024) + (512 + 1024);
  const Index elements = 24 * (4 * 1024 * 1024 + 2 * 1024 * 4096) + 2 * 1024 * 1024 + (30'522 + 512) * 1024;
  CHECK(bytes == 4 * (2 * sides + 336'226'108 - elements));
  const ClusterPrice price = price_job(job, infiniband(), {});
  CHECK(price.stages.back().step.exchange.nic_bytes < 0.01 * price.dense.step.exchange.nic_bytes);
  CHECK(price.speedup > 1);
  plan.parameters = 1'000'000;
  CHECK_THAT(refusal_of(plan, infiniband()), Contains("depends on the tensors' shapes") && Contains("bert-large"));
}

TEST_CASE("pricing: a ramp is over in the stage that is priced") {
  JobPlan plan = bert_plan("dgc");
  plan.run.optimizer.exchange.up.name = "top-k";
  const auto bytes = [&](Index ramp) {
    plan.run.optimizer.ramp = ramp;
    return netmodel::sent_bytes(plan_job(plan, infiniband()).stages.back().kinds.front().traffic.exchanges).value;
  };
  CHECK(bytes(1000) == bytes(0));
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

TEST_CASE("pricing: nothing of a hierarchical exchange is hidden or left out") {
  JobPlan plan = bert_plan("onebit-adam");
  plan.rules.step.hierarchical = true;
  const netmodel::StepEstimate step = price_job(plan_job(plan, infiniband()), infiniband(), {}).stages.back().step;
  CHECK(step.communication.value > 0);
  CHECK(step.communication == step.all_communication);
}
