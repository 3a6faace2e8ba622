// Whole runs on emulated GPUs. Their sums and products are the CPU's, so their bits are too.
#include "device/error.hpp"
#include "optim/optimizer.hpp"
#include "sim/log/reader.hpp"
#include "sim/memory_plan.hpp"
#include "sim/train.hpp"
#include "tests/catch.hpp"
#include "tests/emulator/stream.hpp"
#include "tests/sim/same_runs.hpp"
#include "tests/sim/small_runs.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;

namespace {

RunConfig compressed(RunConfig config) {
  config.optimizer.name = "onebit-adam";
  config.optimizer.freeze.policy = "fixed:3";
  config.workers = 14;
  config.steps = 6;
  return config;
}

/// A run whose first GPU is lost after a step.
RunResult run_until_lost(const RunConfig& config, const std::string& path, Index step) {
  VirtualCluster cluster(config);
  RunControl control;
  control.on_step = [step](const Progress& progress) {
    if (progress.step == step) emulator::lose(0);
  };
  const RunResult result = train(cluster, config, path, Existing::refuse, {}, control);
  emulator::lose(0, false);
  return result;
}

}  // namespace

TEST_CASE("every optimizer has the CPU's bits on an emulated GPU, two and two logical ones of the same") {
  for (const auto& entry : optim::optimizers()) {
    RunConfig config = staged_run(std::string(entry.name));
    config.workers = 14;
    check_same_runs(config, {"cuda:0", "cuda:0,0", "cuda:0,1"});
  }
}

TEST_CASE("every codec has the CPU's bits on emulated GPUs") {
  for (const auto& entry : compress::codecs()) {
    RunConfig config = staged_run("ef-momentum-sgd");
    config.optimizer.exchange.up.name = entry.name;
    config.steps = 4;
    check_same_runs(config, {"cuda:0,1"});
  }
}

TEST_CASE("a GPU runs out of work once a step, when the norm of the update is asked for") {
  constexpr Index freeze = 3;  // looks for variances that are zero
  for (const std::string name : {"sgd", "adam", "onebit-adam", "ef-momentum-sgd"}) {
    for (const double clip : {0.0, 0.5}) {
      const bool clips_mean = clip > 0 && (name == "sgd" || name == "adam");
      if (clips_mean) continue;  // the host has to know the factor
      for (const Index parts : {1, 2}) {
        CAPTURE(name, clip, parts);
        RunConfig config = compressed(mlp_config());
        config.optimizer.name = name;
        config.optimizer.clip = clip;
        config.accumulation = parts;
        config.device = "cuda:0";
        VirtualCluster cluster(config);
        while (cluster.step() < freeze) cluster.advance();
        while (cluster.step() < cluster.steps()) {
          const Index before = emulator::drains();
          cluster.advance();
          CHECK(emulator::drains() - before == 1);
        }
      }
    }
  }
}

TEST_CASE("transformers have the CPU's bits on emulated GPUs, in groups of workers too") {
  const Folder folder;
  for (const std::string name : {"bert-nano", "gpt-nano"}) {
    RunConfig config = compressed(transformer_config(folder, name));
    check_same_runs(config, {"cuda:0,1"});
    config.accumulation = 2;
    check_same_runs(config, {"cuda:0"}, 3);
  }
}

TEST_CASE("a GPU that is lost ends the run with its log and the way on") {
  const Folder folder;
  RunConfig config = compressed(mlp_config());
  config.device = "cuda:0";
  const std::string path = folder / "run.h5";
  const RunResult without = run_until_lost(config, path, 4);
  CHECK(without.status == RunStatus::failed);
  CHECK_THAT(without.reason, Catch::Contains("uncorrectable ECC") && Catch::Contains("there is no checkpoint"));
  CHECK(LogReader(path).steps().size() == 4);
  CHECK(LogReader(path).status() == RunStatus::failed);

  config.checkpoint.every = 2;
  const std::string second = folder / "second.h5";
  const RunResult with = run_until_lost(config, second, 5);
  CHECK_THAT(with.reason, Catch::Contains("--resume goes on from the checkpoint of step 4"));
  VirtualCluster cluster(config);
  CHECK(train(cluster, config, second, Existing::resume, {}, {}).status == RunStatus::finished);
  CHECK(LogReader(second).steps().size() == 6);
}

TEST_CASE("memory that is gone when the run wants it is named with the plan") {
  const Folder folder;
  RunConfig config = compressed(mlp_config());
  config.device = "cuda:0";
  const PreparedRun run = prepare(config);
  emulator::set_memory(0, 4096);
  CHECK_THROWS_WITH(run.start(), Catch::Contains("out of memory (the run was to take") && Catch::Contains("may take"));
  CHECK_THROWS_WITH(prepare(config), Catch::Contains("does not fit in memory"));
  emulator::set_memory(0, std::size_t{1} << 30);

  VirtualCluster cluster = run.start();
  RunControl control;
  control.memory_plan = run.plan.text();
  control.on_start = [] { emulator::set_memory(0, 4096); };
  const RunResult result = train(cluster, config, folder / "run.h5", Existing::refuse, {}, control);
  emulator::set_memory(0, std::size_t{1} << 30);
  CHECK(result.status == RunStatus::failed);
  CHECK_THAT(result.reason, Catch::Contains("out of memory (the run was to take " + run.plan.text()));
}

TEST_CASE("a GPU that is too small for the examples gets them batch by batch") {
  RunConfig config = compressed(mlp_config());
  config.device = "cuda:0";
  config.worker_group = config.workers;
  const MemoryPlan with = prepare(config).plan;
  CHECK(with.keeps_examples);
  config.memory = with.total() - 1;
  const PreparedRun run = prepare(config);
  CHECK_FALSE(run.plan.keeps_examples);
  CHECK(with.total() - run.plan.total() > 0);
  VirtualCluster cluster = run.start(), other(config);
  CHECK_FALSE(cluster.replicas().front().examples);
  CHECK(other.replicas().front().examples);
  while (cluster.step() < cluster.steps()) CHECK(cluster.advance().loss == other.advance().loss);
}

TEST_CASE("logical devices of one GPU share its memory") {
  RunConfig config = compressed(mlp_config());
  config.device = "cuda:0";
  const Index whole = memory_limit(config, make_site(config));
  config.device = "cuda:0,0";
  CHECK(memory_limit(config, make_site(config)) == Approx(static_cast<double>(whole) / 2).epsilon(0.01));
}
