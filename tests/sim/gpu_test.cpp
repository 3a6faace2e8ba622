// Whole runs on emulated GPUs. They compute sums like the CPU, and products too where a test asks for it.
#include <cmath>
#include <filesystem>

#include "device/base/error.hpp"
#include "optim/optimizer.hpp"
#include "sim/log/reader.hpp"
#include "sim/probe/probe.hpp"
#include "sim/run/memory_plan.hpp"
#include "sim/run/train.hpp"
#include "tests/catch.hpp"
#include "tests/emulator/stream.hpp"
#include "tests/sim/same_runs.hpp"
#include "tests/sim/small_runs.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;

namespace {

constexpr Index kFreeze = 3;  // looks for variances that are zero

RunConfig compressed(RunConfig config) {
  config.optimizer.name = "onebit-adam";
  config.optimizer.freeze.policy = "fixed:" + std::to_string(kFreeze);
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

/// A run that starts with few allocations left: how it ends, how many steps it reports, and its memory plan.
struct ShortOfMemory {
  RunResult result;
  Index steps = 0;
  std::string plan;
};

/// Memory of the first GPU in use. The allocation lets CUDA count what was freed before.
Index used_by_runs() {
  const device::Device gpu = device::Device::cuda(0);
  const device::Buffer<float> another(gpu, 1);
  return gpu.memory().use().used;
}

ShortOfMemory run_with_allocations(const RunConfig& config, const std::string& path, Index count) {
  const PreparedRun run = prepare(config);
  ShortOfMemory ending{.result = {}, .plan = run.plan.text()};
  RunControl control;
  control.memory_plan = ending.plan;
  control.on_step = [&ending](const Progress& progress) { ending.steps = progress.step; };
  emulator::fail_allocations_after(count);
  try {
    VirtualCluster cluster = run.start();
    ending.result = train(cluster, run.config, path, Existing::refuse, {}, control);
  } catch (const Error& error) {
    ending.result = {RunStatus::failed, error.what()};
  }
  emulator::fail_allocations_after(-1);
  return ending;
}

/// Returns how often the GPU runs out of work in each step after the freeze, and for a row of /steps after the step.
void check_waits(RunConfig config, Index of_step, Index of_row) {
  config.device = "cuda:0";
  VirtualCluster cluster(config);
  while (cluster.step() < kFreeze) cluster.advance();
  while (cluster.step() < cluster.steps()) {
    const Index before = emulator::drains();
    const StepOutcome outcome = cluster.advance();
    const Index stepped = emulator::drains();
    measure_step(cluster, outcome);
    CHECK(stepped - before == of_step);
    CHECK(emulator::drains() - stepped == of_row);
  }
}

/// An optimizer that finds a NaN in the gradient of worker 9.
class Spoilt final : public optim::Optimizer {
 public:
  static constexpr Index kStep = 2, kWorker = 9;
  static std::string reason() {
    return "worker 9's vector for tensor layer1.weight is not finite (step 2); lower the learning rate or clip "
           "gradients";
  }

  Spoilt(std::unique_ptr<optim::Optimizer> optimizer, const device::Shard& shard)
      : optimizer_(std::move(optimizer)), shard_(shard) {}
  optim::StateView state() const override { return optimizer_->state(); }
  void visit_state(device::StateVisitor& visitor) override { optimizer_->visit_state(visitor); }

 private:
  void do_begin() override { optimizer_->begin(step(), lr()); }
  void do_absorb(Range group, const float* gradients, Index stride) override {
    if (step() == kStep && group.first <= kWorker && kWorker < group.end()) {
      const float bad = std::nanf("");
      auto* row = const_cast<float*>(gradients) + (kWorker - group.first) * stride;
      shard_.device.memory().upload(row + 1, &bad, sizeof bad);
    }
    optimizer_->absorb(group, gradients, stride);
  }
  optim::StepReport do_finish(device::Buffer<float>& parameters) override { return optimizer_->finish(parameters); }

  std::unique_ptr<optim::Optimizer> optimizer_;
  device::Shard shard_;
};

RunConfig exchanging(const std::string& codec) {
  RunConfig config = compressed(mlp_config());
  config.optimizer.name = "ef-momentum-sgd";
  config.optimizer.exchange.up.name = codec;
  return config;
}

void spoil(VirtualCluster& cluster) {
  cluster.on_each_device([](Replica& replica) {
    replica.optimizer = std::make_unique<Spoilt>(std::move(replica.optimizer), replica.shard);
  });
}

}  // namespace

TEST_CASE("every optimizer has the CPU's bits on an emulated GPU, two and two logical ones of the same") {
  const emulator::CpuProducts products;
  for (const auto& entry : optim::optimizers()) {
    RunConfig config = staged_run(std::string(entry.name));
    config.workers = 14;
    check_same_runs(config, {"cuda:0", "cuda:0,1"});
    if (entry.name == "onebit-adam") check_same_runs(config, {"cuda:0,0"});
  }
}

TEST_CASE("every codec has the CPU's bits on emulated GPUs") {
  const emulator::CpuProducts products;
  for (const auto& entry : compress::codecs()) {
    RunConfig config = staged_run("ef-momentum-sgd");
    config.optimizer.exchange.up.name = entry.name;
    config.steps = 4;
    check_same_runs(config, {"cuda:0,1"});
  }
}

TEST_CASE("a GPU runs out of work once a step, when the norm of the update is asked for") {
  for (const std::string name : {"sgd", "adam", "onebit-adam", "ef-momentum-sgd"}) {
    for (const double clip : {0.0, 0.5}) {
      for (const Index parts : {1, 2}) {
        CAPTURE(name, clip, parts);
        RunConfig config = compressed(mlp_config());
        config.optimizer.name = name;
        config.optimizer.clip = clip;
        config.accumulation = parts;
        check_waits(config, 1, 1);
      }
    }
  }
}

TEST_CASE("a GPU runs out of work once a step whatever the codec, but for sizes and scales that the host has to know") {
  for (const auto& entry : compress::codecs()) {
    CAPTURE(entry.name);
    const auto codec = compress::make_codec({.name = std::string(entry.name)});
    RunConfig config = exchanging(std::string(entry.name));
    config.steps = kFreeze + 1;
    const compress::Traits traits = codec->traits();
    const Index of_way = codec->variable_size() ? 1 : 0, ways = traits.sparse && !traits.linear ? 1 : 2;
    const Index scales = traits.shared_max ? 1 : 0;
    check_waits(config, 1 + ways * of_way + scales, 1);
    if (entry.name != "qsgd") continue;
    config.worker_group = 5;
    check_waits(config, 1, 1);
  }
}

TEST_CASE("a vector that is not finite ends the step with the same words on all devices") {
  for (const auto& entry : compress::codecs()) {
    if (!compress::make_codec({.name = std::string(entry.name)})->refuses()) continue;
    RunConfig config = exchanging(std::string(entry.name));
    for (const auto& [devices, group] : {std::pair{"cpu", 3}, {"cpu:2", 0}, {"cuda:0", 0}, {"cuda:0,1", 3}}) {
      CAPTURE(entry.name, devices, group);
      config.device = devices;
      config.worker_group = group;
      VirtualCluster cluster(config);
      spoil(cluster);
      while (cluster.step() < Spoilt::kStep - 1) cluster.advance();
      CHECK_THROWS_WITH(cluster.advance(), Spoilt::reason());
    }
  }
}

TEST_CASE("a vector that is not finite ends the run with a log of the steps before") {
  const Folder folder;
  for (const std::string device : {"cpu", "cuda:0"}) {
    CAPTURE(device);
    RunConfig config = exchanging("qsgd");
    config.device = device;
    VirtualCluster cluster(config);
    spoil(cluster);
    const RunResult result = train(cluster, config, folder / "run.h5", Existing::replace, {}, {});
    CHECK(result.status == RunStatus::diverged);
    CHECK(result.reason == Spoilt::reason());
    CHECK(LogReader(folder / "run.h5").steps().size() == static_cast<std::size_t>(Spoilt::kStep - 1));
  }
}

TEST_CASE("transformers have the CPU's bits on emulated GPUs, in groups of workers too") {
  const emulator::CpuProducts products;
  const Folder folder;
  for (const std::string name : {"bert-nano", "gpt-nano"}) {
    RunConfig config = compressed(transformer_config(folder, name));
    check_same_runs(config, {"cuda:0,1"});
    config.accumulation = 2;
    check_same_runs(config, {"cuda:0"}, 3);
  }
}

TEST_CASE("whatever a model's passes launch, GPUs replay it with the CPU's bits") {
  const emulator::CpuProducts products;
  const Folder folder;
  for (const ModelEntry& model : models()) {
    if (model.name == "external" || model.name == "resnet18") continue;
    RunConfig config = smallest_run_of(model, folder);
    const bool images = model.input == Input::images;  // their convolutions take long on emulated GPUs
    config.workers = images ? 1 : 9;
    config.batch = 2;
    config.steps = images ? 3 : 7;
    config.eval = {.every = 3, .examples = 8};
    config.probe.every = images || model.input == Input::bags ? 0 : 3;
    config.checkpoint.every = 5;
    for (const std::string norm : {"group", "batch"}) {
      if (norm == "batch" && model.name != "resnet20") continue;
      config.model.norm = norm;
      CAPTURE(norm);
      check_same_runs(config, {"cuda:0"});
      if (images) continue;
      check_same_runs(config, {"cuda:0,1"});
      config.accumulation = 2;
      check_same_runs(config, {"cuda:1"}, 4);
    }
  }
}

TEST_CASE("both halves of a pass are one launch each once they have come twice, unless graphs are unwanted") {
  const Folder folder;
  RunConfig config = transformer_config(folder, "bert-nano");
  config.device = "cuda:0";
  for (const bool graphs : {true, false}) {
    CAPTURE(graphs);
    config.graphs = graphs;
    VirtualCluster cluster(config);
    while (cluster.step() < cluster.steps()) {
      const Index before = emulator::graph_launches();
      cluster.advance();
      CHECK(emulator::graph_launches() - before == (graphs && cluster.step() > 1 ? 2 : 0));
    }
  }
}

TEST_CASE("an evaluation that needs more room than the passes does not disturb them") {
  const emulator::CpuProducts products;
  const Folder folder;
  RunConfig config = transformer_config(folder, "gpt-nano");
  config.workers = 2;
  config.eval = {.every = 1, .examples = 500};
  config.steps = 8;
  check_same_runs(config, {"cuda:0"});
  config.eval.every = 3;
  check_same_runs(config, {"cuda:0"});
}

TEST_CASE("a GPU that is lost ends the run with its log and a hint how to continue") {
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
  CHECK_THAT(with.reason, Catch::Contains("--resume continues from the checkpoint of step 4"));
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
  CHECK_THROWS_WITH(run.start(), Catch::Contains("out of memory (planned: ") && Catch::Contains("the limit is"));
  CHECK_THROWS_WITH(prepare(config), Catch::Contains("does not fit in memory"));
  emulator::set_memory(0, std::size_t{1} << 30);

  VirtualCluster cluster = run.start();
  RunControl control;
  control.memory_plan = run.plan.text();
  control.on_start = [] { emulator::set_memory(0, 4096); };
  const RunResult result = train(cluster, config, folder / "run.h5", Existing::refuse, {}, control);
  emulator::set_memory(0, std::size_t{1} << 30);
  CHECK(result.status == RunStatus::failed);
  CHECK_THAT(result.reason, Catch::Contains("out of memory (planned: " + run.plan.text()));
}

TEST_CASE("whichever allocation fails, a run ends with the plan and a complete log") {
  const Folder folder;
  RunConfig config = compressed(mlp_config());
  config.device = "cuda:0";
  config.steps = kFreeze + 1;
  config.workers = 4;
  const Index used = used_by_runs();
  Index count = 0;
  for (RunStatus status = RunStatus::failed; status == RunStatus::failed; ++count) {
    CAPTURE(count);
    const std::string path = folder / (std::to_string(count) + ".h5");
    const ShortOfMemory ending = run_with_allocations(config, path, count);
    status = ending.result.status;
    CHECK(used_by_runs() == used);
    if (std::filesystem::exists(path)) {
      const Index rows = std::ssize(LogReader(path).steps());
      CHECK((rows == ending.steps || rows == ending.steps + 1));  // the last may be logged but not reported
    }
    if (status != RunStatus::failed) continue;
    CHECK_THAT(ending.result.reason, Catch::Contains("out of memory (planned: " + ending.plan));
  }
  CHECK(count > 50);  // allocations of the whole run
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
  const Index whole = memory_limit(config, make_resources(config));
  config.device = "cuda:0,0";
  CHECK(memory_limit(config, make_resources(config)) == Approx(static_cast<double>(whole) / 2).epsilon(0.01));
}
