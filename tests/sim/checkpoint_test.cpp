// A run that is stopped and resumed, on the same devices or on others, ends with the bits of an uninterrupted one.
#include "sim/run/checkpoint.hpp"

#include <filesystem>

#include "sim/run/resume.hpp"
#include "tests/catch.hpp"
#include "tests/sim/same_runs.hpp"
#include "tests/sim/small_runs.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;

namespace {

namespace fs = std::filesystem;

RunConfig on_devices(RunConfig config, const std::string& devices, int threads) {
  config.device = devices;
  config.threads = threads;
  return config;
}

/// Stops a run after 0, 1, ... steps on one device, and continues it on two, and on poisoned memory.
void check_resumes(const RunConfig& config, std::initializer_list<Index> stops) {
  const Folder folder;
  const Ended whole = run(config, folder / "whole.h5", Existing::refuse);
  REQUIRE(whole.result.status == RunStatus::finished);
  Index number = 0;
  for (const Index stop : stops) {
    const bool even = number % 2 == 0;
    const std::string path = folder / ("part" + std::to_string(number++) + ".h5");
    CAPTURE(config.optimizer.name, config.optimizer.exchange.up.name, config.model.name, stop);
    const RunConfig first = on_devices(config, even ? "cpu" : "cpu:2", even ? 1 : 2);
    const RunConfig second = on_devices(config, even ? "debug:2" : "cpu", even ? 2 : 3);
    CHECK(run(first, path, Existing::refuse, stop).result.status == RunStatus::stopped);
    const Ended resumed = run(second, path, Existing::resume);
    CHECK(resumed.result.status == RunStatus::finished);
    CHECK(different(whole.state, resumed.state) == std::vector<std::string>{});
    check_same_log(LogReader(folder / "whole.h5"), LogReader(path));
  }
}

}  // namespace

TEST_CASE("checkpoint: every optimizer goes on as if nothing had happened, on other devices too") {
  for (const optim::OptimizerEntry& entry : optim::optimizers())
    check_resumes(staged_run(std::string(entry.name)), {2, 5, 8});
}

TEST_CASE("checkpoint: runs in deepspeed semantics continue as if nothing had happened") {
  for (const char* optimizer : {"onebit-adam", "onebit-lamb", "zeroone-adam"}) {
    RunConfig config = staged_run(optimizer);
    config.optimizer.clip = 0;
    config.optimizer.semantics = optim::Semantics::deepspeed;
    check_resumes(config, {1, 3, 6});
  }
}

TEST_CASE("checkpoint: runs with any codec continue with everything that it keeps from step to step") {
  for (const compress::CodecEntry& entry : compress::codecs()) {
    RunConfig config = staged_run("ef-momentum-sgd");
    config.optimizer.exchange.up.name = entry.name;
    config.optimizer.exchange.granularity = compress::Granularity::tensor;
    config.steps = 6;
    check_resumes(config, {2, 3});
  }
}

TEST_CASE("checkpoint: runs with errors that are kept in fewer bytes continue as if nothing had happened", "[once]") {
  for (const auto type : {compress::ErrorType::bf16, compress::ErrorType::int8}) {
    for (const char* optimizer : {"onebit-adam", "onebit-lamb", "zeroone-adam", "ef-sgd", "ef21"}) {
      RunConfig config = staged_run(optimizer);
      config.optimizer.exchange.error_type = type;
      config.probe.every = 2;
      check_resumes(config, {2, 5, 8});
    }
  }
}

TEST_CASE("checkpoint: errors of another type than the run's are refused by name") {
  const Folder folder;
  RunConfig config = staged_run("onebit-adam");
  config.optimizer.exchange.error_type = compress::ErrorType::bf16;
  run(config, folder / "run.h5", Existing::refuse, 5);
  config.optimizer.exchange.error_type = compress::ErrorType::fp32;
  VirtualCluster cluster(config);
  CHECK_THROWS_WITH(
      read_checkpoint(checkpoint_path(folder / "run.h5", 5), cluster),
      Catch::Matchers::Contains("it has no optimizer/worker_error: the run that wrote it had other options"));
}

TEST_CASE("checkpoint: runs with running statistics, dropout and sparse rows of the log continue as well", "[once]") {
  const Folder folder;
  RunConfig network = staged_run("onebit-adam");
  network.model = {.name = "resnet20", .layers = {}, .norm = "batch"};
  network.data = {.name = "synthetic", .image = {1, 8, 8}, .classes = 3, .examples = 60};
  network.workers = 8;
  network.steps = 5;
  network.eval.examples = 20;
  network.log.every = 3;
  check_resumes(network, {2, 4});
  RunConfig transformer = transformer_config(folder, "bert-nano");
  transformer.optimizer = staged_run("onebit-lamb").optimizer;
  check_resumes(transformer, {2, 4});
}

TEST_CASE(
    "checkpoint: a log that was killed goes on from the last checkpoint, and what is there is not written again") {
  const Folder folder;
  RunConfig config = staged_run("onebit-adam");
  config.log.flush_every = 1;
  config.checkpoint.every = 4;
  const std::string path = folder / "run.h5";
  const Ended whole = run(config, folder / "whole.h5", Existing::refuse);
  run(config, path, Existing::refuse, 7);
  fs::remove(checkpoint_path(path, 7));  // as if the program had been killed after step 7
  const std::vector<StepRow> before = LogReader(path).steps();
  REQUIRE(before.size() == 7);
  const Ended resumed = run(config, path, Existing::resume);
  CHECK(different(whole.state, resumed.state) == std::vector<std::string>{});
  const LogReader log(path);
  check_same_log(LogReader(folder / "whole.h5"), log);
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(log.steps()[i].wall_seconds == before[i].wall_seconds);
  CHECK(checkpoints_of(path).front().step == 8);
}

TEST_CASE("checkpoint: a run that leaves a dense one for its freeze is the run that was frozen there") {
  for (const char* optimizer : {"onebit-adam", "onebit-lamb"}) {
    const Folder folder;
    RunConfig dense = staged_run(optimizer);
    dense.optimizer.freeze.policy = "never";
    dense.probe.every = 3;
    CHECK(run(dense, folder / "dense.h5", Existing::refuse).result.status == RunStatus::finished);
    VirtualCluster trunk(dense);
    for (const Index step : {2, 5, 8}) {
      CAPTURE(optimizer, step);
      const std::string name = std::to_string(step);
      RunConfig frozen = dense;
      frozen.optimizer.freeze.policy = "fixed:" + name;
      const Ended whole = run(frozen, folder / ("whole" + name + ".h5"), Existing::refuse);
      while (trunk.step() < step - 1) trunk.advance();
      write_checkpoint(folder / "trunk", trunk, {});
      VirtualCluster cluster(frozen);
      read_checkpoint(checkpoint_path(folder / "trunk", trunk.step()), cluster);
      const LogReader parent(folder / "dense.h5");
      const std::string path = folder / ("branch" + name + ".h5");
      CHECK(branch(cluster, frozen, path, {}, {}, parent).status == RunStatus::finished);
      CHECK(different(whole.state, state_of(cluster)) == std::vector<std::string>{});
      check_same_log(LogReader(folder / ("whole" + name + ".h5")), LogReader(path));
    }
  }
}

TEST_CASE("checkpoint: a run that is stopped before its first step, and again, evaluates once at its start") {
  const Folder folder;
  const RunConfig config = staged_run("adam");
  const std::string path = folder / "run.h5";
  const Ended whole = run(config, folder / "whole.h5", Existing::refuse);
  run(config, path, Existing::refuse, 0);
  run(config, path, Existing::resume, 0);
  CHECK(different(whole.state, run(config, path, Existing::resume).state) == std::vector<std::string>{});
  check_same_log(LogReader(folder / "whole.h5"), LogReader(path));
}

/// Trains up to step 5 with checkpoints of two steps.
RunConfig run_with_checkpoints(const std::string& path) {
  RunConfig config = staged_run("adam");
  config.checkpoint = {.every = 2, .keep = 2};
  run(config, path, Existing::refuse, 5);
  return config;
}

TEST_CASE("checkpoint: one with another step's name is refused") {
  const Folder folder;
  const std::string path = folder / "run.h5";
  const RunConfig config = run_with_checkpoints(path);
  fs::copy_file(checkpoint_path(path, 4), checkpoint_path(path, 7));
  CHECK_THROWS_WITH(run(config, path, Existing::resume), Catch::Matchers::Contains("it is from step 4"));
}

TEST_CASE("checkpoint: useless ones of later steps do not displace new ones") {
  const Folder folder;
  const std::string path = folder / "run.h5";
  const RunConfig config = run_with_checkpoints(path);
  for (const Index step : {100, 200}) write_file(checkpoint_path(path, step), "junk");
  run(config, path, Existing::resume, 7);
  std::vector<Index> steps;
  for (const CheckpointFile& file : checkpoints_of(path)) steps.push_back(file.step);
  CHECK(steps == std::vector<Index>{7, 6});
}

TEST_CASE("checkpoint: a log that another program has written to in the meantime is not cut") {
  const Folder folder;
  const RunConfig config = staged_run("adam");
  const std::string path = folder / "run.h5";
  run(config, path, Existing::refuse, 5);
  VirtualCluster cluster(config);
  const Resumption early = prepare_resumption(cluster, path, false);
  run(config, path, Existing::resume);
  const std::string log = read_file(path);
  CHECK_THROWS_WITH(LogWriter(path, early.header, early.keep, early.seen),
                    Catch::Matchers::Contains("another program has written to it"));
  CHECK(LogReader(path).committed_rows() == 9);
}

TEST_CASE("checkpoint: the newest ones are kept") {
  const Folder folder;
  RunConfig config = staged_run("adam");
  config.checkpoint = {.every = 2, .keep = 3};
  run(config, folder / "run.h5", Existing::refuse);
  std::vector<Index> steps;
  for (const CheckpointFile& file : checkpoints_of(folder / "run.h5")) steps.push_back(file.step);
  CHECK(steps == std::vector<Index>{8, 6, 4});
}

TEST_CASE("checkpoint: a resumed run removes what a kill left, although it writes no other checkpoint") {
  const Folder folder;
  RunConfig config = staged_run("adam");
  config.checkpoint = {.every = 2, .keep = 3};
  const std::string path = folder / "run.h5";
  run(config, path, Existing::refuse, 8);
  CHECK(checkpoints_of(path).size() == 3);
  write_file(path + ".part", "a copy that was being compressed");
  write_file(checkpoint_path(path, 9) + ".part", "a checkpoint that was being written");
  config.checkpoint = {.every = 100, .keep = 2};
  run(config, path, Existing::resume);
  std::vector<Index> steps;
  for (const CheckpointFile& file : checkpoints_of(path)) steps.push_back(file.step);
  CHECK(steps == std::vector<Index>{8, 6});
  CHECK_FALSE(fs::exists(path + ".part"));
  CHECK_FALSE(fs::exists(checkpoint_path(path, 9) + ".part"));
}

TEST_CASE("checkpoint: one that is truncated or has one wrong byte is refused, and the previous one is used") {
  const Folder folder;
  RunConfig config = staged_run("onebit-adam");
  config.checkpoint = {.every = 3, .keep = 100};
  const Ended whole = run(config, folder / "whole.h5", Existing::refuse);
  const std::string path = folder / "run.h5";
  run(config, path, Existing::refuse, 7);
  const std::string last = checkpoint_path(path, 7), good = read_file(last), log = read_file(path);
  const auto check = [&](const std::string& damaged, const std::string& reason) {
    write_file(last, damaged);
    write_file(path, log);
    CHECK_THROWS_WITH(verify_checkpoint(last), Catch::Matchers::Contains(reason));
    VirtualCluster cluster(config);
    const Resumption resumption = prepare_resumption(cluster, path, false);
    CHECK(resumption.warnings.size() == 1);
    CHECK(cluster.step() == 6);
    CHECK(different(whole.state, run(config, path, Existing::resume).state) == std::vector<std::string>{});
    fs::remove(checkpoint_path(path, 9));
  };
  check(good.substr(0, good.size() - 1), "bytes instead of");
  check(good.substr(0, 600), "bytes instead of");
  check(good.substr(0, 100), "truncated");
  check("", "truncated");
  for (const std::size_t place : {std::size_t{3}, std::size_t{30}, std::size_t{200}, std::size_t{511}, std::size_t{512},
                                  good.size() / 2, good.size() - 1}) {
    std::string damaged = good;
    damaged[place] = static_cast<char>(damaged[place] ^ 4);
    check(damaged, "cannot use checkpoint");
  }
}

TEST_CASE("checkpoint: without a good one the run begins again, and its rows are compared") {
  const Folder folder;
  const RunConfig config = staged_run("onebit-lamb");
  const std::string path = folder / "run.h5";
  const Ended whole = run(config, folder / "whole.h5", Existing::refuse);
  run(config, path, Existing::refuse, 5);
  fs::remove(checkpoint_path(path, 5));
  CHECK(different(whole.state, run(config, path, Existing::resume).state) == std::vector<std::string>{});
  check_same_log(LogReader(folder / "whole.h5"), LogReader(path));
}

TEST_CASE("checkpoint: a run that computes other rows than its log holds is an error, unless they may be replaced") {
  const Folder folder;
  RunConfig config = staged_run("adam");
  const std::string path = folder / "run.h5";
  run(config, path, Existing::refuse, 5);
  fs::remove(checkpoint_path(path, 5));
  config.optimizer.lr *= 1.5;
  const std::string before = read_file(path);
  CHECK_THROWS_WITH(run(config, path, Existing::resume),
                    Catch::Matchers::Contains("computed again differs from the log (steps/lr of step 1"));
  CHECK(LogReader(path).committed_rows() == 5);
  const Ended whole = run(config, folder / "whole.h5", Existing::refuse);
  CHECK(different(whole.state, run(config, path, Existing::resume_replacing).state) == std::vector<std::string>{});
  check_same_log(LogReader(folder / "whole.h5"), LogReader(path));
}

TEST_CASE("checkpoint: other data, another model and the checkpoints of another run are refused") {
  const Folder folder;
  const RunConfig config = staged_run("adam");
  const std::string path = folder / "run.h5";
  run(config, path, Existing::refuse, 5);
  RunConfig other = config;
  other.data.examples += 1;
  CHECK_THROWS_WITH(run(other, path, Existing::resume), Catch::Matchers::Contains("the data differ from the log's"));
  other = config;
  other.model.layers = {9, 12, 3};
  CHECK_THROWS_WITH(run(other, path, Existing::resume), Catch::Matchers::Contains("tensors differ from the log's"));
  other = config;
  other.optimizer.name = "lamb";
  other.optimizer.lr *= 2;
  run(other, folder / "other.h5", Existing::refuse, 6);
  fs::copy(checkpoint_path(folder / "other.h5", 6), checkpoint_path(path, 6));
  VirtualCluster cluster(config);
  const Resumption resumption = prepare_resumption(cluster, path, false);
  CHECK(cluster.step() == 5);
  REQUIRE(resumption.warnings.size() == 1);
  CHECK_THAT(resumption.warnings[0], Catch::Matchers::Contains("it belongs to another run"));
}

TEST_CASE("checkpoint: those of a removed log prevent a new log") {
  const Folder folder;
  const RunConfig config = staged_run("adam");
  const std::string path = folder / "run.h5";
  run(config, path, Existing::refuse, 5);
  fs::remove(path);
  for (const Existing existing : {Existing::refuse, Existing::resume}) {
    CHECK_THROWS_WITH(run(config, path, existing),
                      Catch::Matchers::Contains("found checkpoints of an earlier run, but its log is missing"));
  }
  CHECK(run(config, path, Existing::replace).result.status == RunStatus::finished);
  CHECK(checkpoints_of(path).empty());
}
