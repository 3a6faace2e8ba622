// Prices of steps with embedding tables: codecs at the boundary, and the rate at which a step is shorter.

#include "analysis/pricing/boundary.hpp"
#include "analysis/pricing/price_sweep.hpp"
#include "analysis/pricing/ranking.hpp"
#include "device/base/error.hpp"
#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::analysis;
using Catch::Matchers::Contains;

namespace {

HybridRules coded(const std::string& codec, double density = 0.05, double value_bytes = 4) {
  return {.codec = codec, .density = density, .value_bytes = value_bytes};
}

/// Returns the dense bytes of both ways relative to those of a codec.
double ratio(const HybridRules& rules) {
  const netmodel::Boundary boundary = boundary_of(rules, 1 << 20);
  return 8 / (boundary.forward + boundary.backward);
}

std::string refusal(const HybridRules& rules) {
  try {
    boundary_of(rules, 1000);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

/// MLPerf's shape on eight A100s whose network has no latency, with 65,536 samples per step.
JobPlan mlperf(const HybridRules& rules, netmodel::Overlap overlap) {
  JobPlan plan;
  plan.rules.workload = netmodel::find_workload("dlrm-mlperf");
  plan.rules.hybrid = rules;
  plan.rules.step.overlap = overlap;
  plan.workers = 8;
  plan.run.batch = 8192;
  plan.run.optimizer.name = "adam";
  return plan;
}

netmodel::Cluster no_latency() {
  netmodel::Cluster cluster = netmodel::find_cluster("ib100");
  cluster.nic.latency = netmodel::Seconds(0);
  return cluster;
}

std::string plan_refusal(const JobPlan& plan) {
  try {
    plan_job(plan, no_latency());
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("boundary: dct-mp sends indices forward, and only values back") {
  // n (s + 4) and n s bytes: 13.3 and 66.7 times fewer than dense float32 both ways
  CHECK(boundary_of(coded("dct-mp"), 1000).forward == Approx(0.05 * 8));
  CHECK(boundary_of(coded("dct-mp"), 1000).backward == Approx(0.05 * 4));
  CHECK(ratio(coded("dct-mp")) == Approx(13.33).epsilon(1e-3));
  CHECK(ratio(coded("dct-mp", 0.01)) == Approx(66.67).epsilon(1e-3));
  CHECK(ratio(coded("dct-mp", 0.05, 2)) == Approx(8 / (0.05 * (2 + 4 + 2))));
  CHECK(boundary_of(coded("dct-mp"), 1000).masked);
  HybridRules counted = coded("fp32");
  counted.model_ratio = 20;
  CHECK(ratio(counted) == Approx(20));
  CHECK_FALSE(boundary_of(counted, 1000).compresses());
}

TEST_CASE("boundary: codecs of the shelf send what they send elsewhere, without error feedback") {
  CHECK(ratio(coded("fp32")) == Approx(1));
  CHECK(ratio(coded("fp16")) == Approx(2));
  CHECK(ratio(coded("int8")) == Approx(4).epsilon(0.02));  // a scale for every 256 numbers
  CHECK(ratio(coded("int4")) == Approx(8).epsilon(0.04));
  CHECK(ratio(coded("top-k")) == Approx(4 / (0.05 * 6.5)).epsilon(1e-3));  // indices of 20 bits, both ways
  const netmodel::Boundary int8 = boundary_of(coded("int8"), 1 << 20);
  CHECK(int8.encode == Approx(2 * 4 + int8.forward));  // the largest magnitudes, then the integers
  CHECK(int8.decode == Approx(int8.forward + 4));
  CHECK_FALSE(int8.masked);
  CHECK_FALSE(boundary_of(coded("fp32"), 1000).compresses());
  for (const std::string& name : boundary_codecs()) {
    CAPTURE(name);
    const netmodel::Boundary boundary = boundary_of(coded(name, 0.05), 4096);
    CHECK((boundary.forward > 0 && boundary.forward <= 4.1));
    CHECK((boundary.backward > 0 && boundary.backward <= 4.1));
    CHECK(boundary.compresses() == (name != "fp32"));
  }
}

TEST_CASE("boundary: codecs that do not fit are refused by name") {
  CHECK_THAT(refusal(coded("dct")), Contains("depends on the data") && Contains("boundary.codec dct"));
  CHECK_THAT(refusal(coded("power-sgd")), Contains("boundary.codec power-sgd"));
  CHECK_THAT(refusal(coded("terngrad")), Contains("other workers"));
  CHECK_THAT(refusal(coded("dct-mb")), Contains("dct-mb"));
  CHECK_THAT(refusal(coded("dct-mp", 1)), Contains("boundary.k 1"));
  CHECK_THAT(refusal(coded("dct-mp", 0)), Contains("between 0 and 1"));
}

TEST_CASE("tables: jobs are refused by name, and logs have no exchanges of tables") {
  JobPlan plan = mlperf({}, netmodel::Overlap::none);
  CHECK(plan_refusal(plan).empty());
  plan.run.accumulation = 2;
  CHECK_THAT(plan_refusal(plan), Contains("accumulation 2") && Contains("--batch"));
  plan.run.accumulation = 1;
  plan.workers = 32;
  CHECK_THAT(plan_refusal(plan), Contains("32 GPUs, 26 tables"));
  plan.rules.hybrid.split = netmodel::TableSplit::row_wise;
  CHECK(plan_refusal(plan).empty());
  plan.rules.step.sharding = netmodel::Sharding::zero3;
  CHECK_THAT(plan_refusal(plan), Contains("step.sharding"));
  CHECK_THROWS_WITH(check_fits(*plan.rules.workload, plan.rules.workload->parameters, "run.h5"),
                    Contains("run.h5") && Contains("cannot be scaled to the embedding tables of this workload"));
  const Job job = plan_job(mlperf({}, netmodel::Overlap::none), no_latency());
  CHECK_THROWS_WITH(write_schedule(job, no_latency(), {}, "never.goal"), Contains("goal"));
}

TEST_CASE("tables: a job is compared with dense Adam and dense embeddings") {
  const Job plain = plan_job(mlperf({}, netmodel::Overlap::none), no_latency());
  CHECK(is_dense_adam(plain));
  CHECK(price_job(plain, no_latency(), {}).speedup == 1);
  const Job half = plan_job(mlperf(coded("fp16"), netmodel::Overlap::none), no_latency());
  CHECK_FALSE(is_dense_adam(half));
  const ClusterPrice price = price_job(half, no_latency(), {});
  CHECK(price.dense.step.step == price_job(plain, no_latency(), {}).dense.step.step);
  REQUIRE(price.hybrid);
  CHECK(price.hybrid->pooled.value == Approx(0.5 * price.dense_hybrid->pooled.value));
  CHECK(price.stages.back().step.step == price.hybrid->step.step);
  // The seventh GPU holds the tables 20 to 22, two of the largest
  CHECK(price.memory->tables.value == Approx((40'000'000 + 40'000'000 + 590'152) * 512.0));
  CHECK(price.memory->fits());
}

TEST_CASE("tables: optimizers are ranked against Adam at the same boundary") {
  const std::vector<JobPlan> plans = {mlperf(coded("dct-mp"), netmodel::Overlap::none)};
  const Ranking ranks = rank(plans, no_latency(), {});
  REQUIRE(ranks.methods.size() == 1);
  CHECK(ranks.methods.front().speedup.value == Approx(1));
  CHECK(ranks.methods.front().speedup.high == Approx(1));
  CHECK(ranks.tables);
  CHECK(ranks.hybrid.codec == "dct-mp");
  const Job alone = plan_job(plans.front(), no_latency());
  CHECK_FALSE(is_dense_adam(alone));
  CHECK(price_job(alone, no_latency(), {}).speedup > 1);
}

TEST_CASE("tables: 100 and 20 times fewer bytes make a step 37% shorter where the GPUs wait 38% of the time") {
  HybridRules rules;
  rules.model_ratio = 20;
  rules.data_ratio = 100;
  const Job job = plan_job(mlperf(rules, netmodel::Overlap::none), no_latency());
  const auto rate = rate_if_shorter(job, no_latency(), {}, 0.37);
  REQUIRE(rate);
  const ClusterPrice price = price_job(job, with_rate(no_latency(), *rate), {});
  CHECK(1 - 1 / price.speedup == Approx(0.37).epsilon(1e-4));
  const netmodel::HybridEstimate& dense = price.dense_hybrid.value();
  const double step = dense.step.step.value, share = dense.step.communication.value / step;
  CHECK((share > 0.375 && share < 0.395));
  // Amdahl's law: the exchanges shrink to 1/20 and 1/100; those of indices stay as they are
  double kept = step - dense.step.communication.value;
  for (const netmodel::Stage& stage : dense.stages) {
    if (!netmodel::uses_network(stage.kind)) continue;
    const bool indices = stage.name == "indices to the tables";
    kept += stage.time.value / (indices ? 1 : stage.kind == netmodel::StageKind::data_parallel ? 100 : 20);
  }
  CHECK(kept == Approx(0.63 * step).epsilon(0.01));
  CHECK_FALSE(rate_if_shorter(job, no_latency(), {}, 0.999));
}
