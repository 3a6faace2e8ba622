// The memory plan gives what a run holds, chooses the worker group, and refuses what cannot fit.

#include "sim/run/memory_plan.hpp"

#include <numeric>

#include "compress/codecs/codec.hpp"
#include "device/base/error.hpp"
#include "sim/probe/probe.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"
#include "tests/sim/small_runs.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

/// Large enough for buffers of many sizes; every stage of every optimizer within a few steps.
RunConfig staged_config(const std::string& optimizer) {
  RunConfig config = mlp_config();
  config.model.layers = {9, 61, 3};
  config.steps = 14;
  config.optimizer.name = optimizer;
  config.optimizer.freeze.policy = "fixed:1";
  config.optimizer.zeroone.var_freeze_step = 2;
  config.optimizer.zeroone.var_update_scaler = 1;
  config.optimizer.local.period = 2;
  config.optimizer.exchange.up.name = optim::codec_of(config.optimizer, false);
  config.log = {.every = 1, .workers_every = 1, .tensors_every = 1};
  return config;
}

void evaluate(VirtualCluster& cluster) {
  cluster.evaluate();
  if (cluster.crosses_boundary()) cluster.evaluate(true);
}

/// Does what a training loop does with the cluster in one step.
void step(VirtualCluster& cluster) {
  const StepOutcome outcome = cluster.advance();
  const WorkerRow workers = measure_workers(cluster, outcome);
  StepRow row = measure_step(cluster, outcome);
  measure_errors(cluster, workers, row);
  measure_tensors(cluster, outcome.step);
  evaluate(cluster);
}

/// Sums a figure over all devices.
Index sum(const RunResources& resources, Index device::MemoryUse::*number) {
  Index total = 0;
  for (const device::Device& device : resources.devices) total += device.memory().use().*number;
  return total;
}

Index planned_on_devices(const MemoryPlan& plan) {
  Index bytes = 0;
  for (const MemoryPlan::Row& row : plan.rows) {
    const bool on_host = row.name == "copies on the host" || row.name == "log" || row.name == "data and program";
    if (!on_host) bytes += row.bytes;
  }
  return bytes;
}

Index row_of(const MemoryPlan& plan, const std::string& name) {
  for (const MemoryPlan::Row& row : plan.rows) {
    if (row.name == name) return row.bytes;
  }
  return -1;
}

/// Blocks are whole cache lines, and may have belonged to slightly larger buffers before.
bool about(Index bytes, Index expected) {
  return bytes >= expected && bytes <= expected + expected / 10;
}

/// The largest memory of a real run's devices, and how often they asked the system for memory after the third step.
struct Counted {
  Index peak = 0;
  Index late_allocations = 0;
};

Counted count(const RunConfig& config) {
  const RunResources resources = make_resources(config);
  VirtualCluster cluster(config, resources);
  evaluate(cluster);
  while (cluster.step() < 3) step(cluster);
  Counted counted;
  counted.late_allocations = -sum(resources, &device::MemoryUse::allocations);
  while (cluster.step() < 12) step(cluster);
  counted.late_allocations += sum(resources, &device::MemoryUse::allocations);
  while (cluster.step() < cluster.steps()) step(cluster);
  counted.peak = sum(resources, &device::MemoryUse::peak);
  return counted;
}

std::vector<std::string> all_optimizers() {
  std::vector<std::string> names;
  for (const optim::OptimizerEntry& entry : optim::optimizers()) names.emplace_back(entry.name);
  return names;
}

}  // namespace

TEST_CASE("plan: every optimizer holds what its plan says, and asks for no memory after its first steps") {
  for (const std::string& optimizer : all_optimizers()) {
    for (const Index group : {0, 1, 3}) {
      RunConfig config = staged_config(optimizer);
      config.worker_group = group;
      CAPTURE(optimizer, group);
      const Counted counted = count(config);
      CHECK(planned_on_devices(prepare(config).plan) == counted.peak);
      CHECK(counted.late_allocations == 0);
    }
  }
}

TEST_CASE("plan: every codec holds what its plan says, and asks for no memory after its first steps") {
  for (const compress::CodecEntry& codec : compress::codecs()) {
    for (const std::string optimizer : {"ef-momentum-sgd", "onebit-adam"}) {
      RunConfig config = staged_config(optimizer);
      config.optimizer.exchange.up.name = codec.name;
      if (optimizer == "onebit-adam") config.device = "cpu:2";
      CAPTURE(optimizer, codec.name);
      const Counted counted = count(config);
      CHECK(planned_on_devices(prepare(config).plan) == counted.peak);
      CHECK(counted.late_allocations == 0);
    }
  }
}

TEST_CASE("plan: the tables and boundaries of hybrid runs take what the plan says") {
  for (const std::string split : {"table", "row", "column"}) {
    for (const std::string scope : {"batch", "sample", "neuron"}) {
      RunConfig config = dlrm_config();
      config.model.tables.width = 8;
      config.model.tables.split = split;
      config.model.tables.optimizer = split == "row" ? "adagrad" : "sgd";
      config.model.boundary.codec.name = split == "column" ? "int8" : "dct-mp";
      config.model.boundary.scope = scope;
      config.steps = 14;
      config.log = {.every = 1, .workers_every = 1, .tensors_every = 1};
      CAPTURE(split, scope);
      const Counted counted = count(config);
      CHECK(planned_on_devices(prepare(config).plan) == counted.peak);
      CHECK(counted.late_allocations == 0);
    }
  }
}

TEST_CASE("plan: every model is planned, large ones in an instant, and small ones hold what their plan says",
          "[once]") {
  const Folder folder;
  for (const ModelEntry& model : models()) {
    CAPTURE(model.name);
    if (model.input == Input::any) continue;  // a program of the user's: tests/experiments/external_test.cpp
    RunConfig config = run_of(model, folder);
    if (model.input == Input::tokens) config.model.context = 8;
    if (model.input == Input::images) config.data.image = {1, 28, 28};
    config.log = {.every = 1, .workers_every = 1, .tensors_every = 1};
    config.memory = Index{1} << 50;
    config.workers = 4;
    const MemoryPlan plan = prepare(config).plan;
    CHECK(plan.total() > 0);
    if (row_of(plan, "weights") < 1 << 20) CHECK(planned_on_devices(plan) == count(config).peak);
  }
}

TEST_CASE("plan: rounded operands are in it") {
  const Folder folder;
  RunConfig mlp = staged_config("adam"), cnn = mlp, bert = transformer_config(folder, "bert-nano");
  cnn.model = {.name = "cnn", .layers = {}};
  cnn.data.image = {1, 8, 8};
  bert.steps = 14;
  for (RunConfig config : {mlp, cnn, bert}) {
    CAPTURE(config.model.name);
    const Index exact = planned_on_devices(prepare(config).plan);
    config.model.precision = device::Precision::bf16;
    const Counted counted = count(config);
    CHECK(planned_on_devices(prepare(config).plan) == counted.peak);
    CHECK(counted.peak > exact);
    CHECK(counted.late_allocations == 0);
  }
}

TEST_CASE("plan: rows are the buffers that they name") {
  RunConfig config = staged_config("onebit-adam");
  config.worker_group = 3;
  const MemoryPlan plan = prepare(config).plan;
  const VirtualCluster cluster(config);
  const Index row = cluster.model().parameters() * Index{sizeof(float)};
  CHECK(about(row_of(plan, "weights"), row));
  CHECK(about(row_of(plan, "gradients"), 3 * row));
  CHECK(row_of(plan, "moments") == 2 * row);
  CHECK(row_of(plan, "worker errors") == 16 * row);
  CHECK(row_of(plan, "server errors") == row);
  CHECK(row_of(plan, "activations") > 0);
  CHECK(row_of(plan, "data and program") > 0);
  CHECK(plan.worker_group == 3);
  CHECK(plan.total() == std::accumulate(plan.rows.begin(), plan.rows.end(), Index{0},
                                        [](Index sum, const MemoryPlan::Row& each) { return sum + each.bytes; }));
}

TEST_CASE("plan: tables that workers own have a row of their own") {
  RunConfig config = staged_config("sgd");
  config.model.name = "dlrm-nano";
  config.model.tables.optimizer = "adagrad";
  config.data = {.name = "clicks", .examples = 300, .rows = "1000,200,30"};
  config.workers = 2;
  const MemoryPlan plan = prepare(config).plan;
  CHECK(row_of(plan, "tables and statistics") == 1230 * (16 + 1) * Index{sizeof(float)});  // rows, sums of Adagrad
  CHECK(row_of(plan, "activations") > 0);
  CHECK(row_of(prepare(staged_config("adam")).plan, "tables and statistics") == 0);
}

TEST_CASE("plan: errors that are kept in fewer bytes hold what the plan says, in small groups too") {
  using compress::ErrorType;
  for (const std::string optimizer : {"onebit-adam", "onebit-lamb", "ef-sgd", "ef21"}) {
    for (const auto& [type, bytes] :
         {std::pair{ErrorType::fp32, 4.0}, {ErrorType::bf16, 2.0}, {ErrorType::int8, 1.02}}) {
      for (const Index group : {0, 1, 3}) {
        RunConfig config = staged_config(optimizer);
        config.optimizer.exchange.error_type = type;
        config.worker_group = group;
        CAPTURE(optimizer, bytes, group);
        const MemoryPlan plan = prepare(config).plan;
        const Counted counted = count(config);
        CHECK(planned_on_devices(plan) == counted.peak);
        CHECK(counted.late_allocations == 0);
        const auto elements = static_cast<double>(16 * VirtualCluster(config).model().parameters());
        CHECK(static_cast<double>(row_of(plan, "worker errors")) == Approx(bytes * elements).epsilon(0.005));
      }
    }
  }
}

TEST_CASE("plan: what has no room for float32 errors has it for fewer bytes") {
  RunConfig config = staged_config("onebit-adam");
  config.model.layers = {9, 200000, 3};
  config.worker_group = 1;
  const auto total = [&](compress::ErrorType type) {
    config.optimizer.exchange.error_type = type;
    release_freed_memory();
    return prepare(config).plan.total();
  };
  const Index whole = total(compress::ErrorType::fp32), half = total(compress::ErrorType::bf16);
  CHECK(total(compress::ErrorType::int8) < half);
  config.memory = half + (whole - half) / 2;
  CHECK(total(compress::ErrorType::bf16) < config.memory);
  CHECK_THROWS_WITH(total(compress::ErrorType::fp32), Contains("does not fit in memory"));
}

TEST_CASE("plan: local weights, extra gradients and several devices are in it") {
  const auto plan_of = [](const std::string& optimizer, const std::string& devices) {
    RunConfig config = staged_config(optimizer);
    config.device = devices;
    return prepare(config).plan;
  };
  const Index row = VirtualCluster(staged_config("adam")).model().parameters() * Index{sizeof(float)};
  CHECK(about(row_of(plan_of("adam", "cpu"), "weights"), row));
  CHECK(about(row_of(plan_of("adam", "cpu:2"), "weights"), 2 * row));
  CHECK(about(row_of(plan_of("local-sgd", "debug"), "weights"), 16 * row));
  CHECK(about(row_of(plan_of("adam", "cpu"), "gradients"), 16 * row));
  CHECK(about(row_of(plan_of("cada1", "cpu"), "gradients"), 32 * row));
}

TEST_CASE("plan: the largest worker group that fits is taken, and changes no bit") {
  RunConfig config = staged_config("onebit-adam");
  config.model.layers = {9, 20000, 3};
  config.steps = 4;
  const MemoryPlan whole = prepare(config).plan;
  REQUIRE(whole.worker_group == 16);
  config.worker_group = 8;
  release_freed_memory();
  const Index eight = prepare(config).plan.total();
  config.memory = eight + (whole.total() - eight) / 2;  // what the process itself holds differs from plan to plan
  config.worker_group = 0;
  release_freed_memory();
  const PreparedRun prepared = prepare(config);
  CHECK(prepared.plan.fits());
  CHECK(prepared.plan.worker_group >= 8);
  CHECK(prepared.plan.worker_group < 16);
  VirtualCluster some = prepared.start();
  config.memory = 0;
  VirtualCluster all(config);
  CHECK(some.replicas().front().gradients.size() == prepared.plan.worker_group * all.model().parameters());
  for (int i = 0; i < 4; ++i) {
    CHECK(some.advance().loss == all.advance().loss);
  }
  CHECK(some.weights().to_host() == all.weights().to_host());
}

TEST_CASE("plan: what cannot fit is refused with the numbers, before it is allocated") {
  RunConfig config = staged_config("onebit-adam");
  config.model.layers = {9, 1 << 20, 1 << 20, 3};
  CHECK_THROWS_WITH(prepare(config), Contains("does not fit in memory (it needs at least 8.796 TB, 4.398 TB of it for "
                                              "weights; the limit is") &&
                                         Contains("smaller model"));
  config.model.layers = {9, 400000, 3};
  config.memory = Index{500} << 20;
  CHECK_THROWS_WITH(prepare(config), Contains("for worker errors; the limit is 524.3 MB") && Contains("fewer workers"));
  config.worker_group = 16;
  CHECK_THROWS_WITH(prepare(config), Contains("a smaller --worker-group"));
  config.memory = -1;
  CHECK_THROWS_WITH(prepare(config), Contains("memory -1"));
}

TEST_CASE("plan: options that are wrong are refused as by the run, whatever the plan changes of them") {
  RunConfig config = staged_config("onebit-adam");
  config.optimizer.freeze.policy = "fixed:5000";
  CHECK_THROWS_WITH(prepare(config), Contains("never reach the compression stage"));
  config = staged_config("zeroone-adam");
  config.optimizer.zeroone.var_update_scaler = 0;
  CHECK_THROWS_WITH(prepare(config), Contains("var-update-scaler"));
  config = staged_config("adam");
  config.schedule.warmup = 15;
  CHECK_THROWS_WITH(prepare(config), Contains("schedule.warmup"));
}
