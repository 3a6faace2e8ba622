// Whole runs of models of which workers own a part: the same bits everywhere, checkpoints, logs.
#include "device/base/error.hpp"
#include "tests/sim/same_runs.hpp"
#include "tests/sim/small_runs.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;

namespace {

/// Runs that differ in what they keep from step to step.
std::vector<RunConfig> hybrid_runs() {
  std::vector<RunConfig> runs(4, dlrm_config());
  runs[1].model.tables = {.width = 4, .split = "row", .optimizer = "adagrad", .lr = 0.05};
  runs[1].model.boundary.codec.name = "dct-mp";
  runs[1].model.boundary.codec.k = 0.25;
  runs[1].model.boundary.codec.renew = 3;
  runs[1].optimizer.name = "onebit-adam";
  runs[1].optimizer.freeze.policy = "fixed:3";
  runs[2].model.tables.split = "column";
  runs[2].model.tables.width = 8;
  runs[2].batch = 3;
  runs[2].accumulation = 2;
  runs[2].model.boundary.codec.name = "random-k";
  runs[2].model.boundary.codec.k = 0.5;
  runs[2].model.boundary.codec.shared = false;
  runs[2].model.boundary.backward = "mask";
  runs[3].model.interaction = "cat";
  runs[3].model.boundary.codec.name = "qsgd";
  runs[3].optimizer.name = "zeroone-adam";
  runs[3].optimizer.zeroone = {
      .var_freeze_step = 3, .var_update_scaler = 1, .local_step_scaler = 2, .local_step_clipper = 4};
  return runs;
}

/// An mlp that is cut after its first layer.
RunConfig cut_run() {
  RunConfig config = mlp_config();
  config.model.cut = 1;
  config.workers = 6;
  return config;
}

}  // namespace

TEST_CASE("hybrid: runs have the same bits on any devices, with any groups and threads", "[hybrid]") {
  for (const RunConfig& config : hybrid_runs()) {
    check_same_runs(config, {"cpu:2", "debug:2"});
    RunConfig threads = config;
    threads.threads = 5;
    check_same_runs(threads, {"cpu:1", "cpu:2"}, 3);
  }
}

TEST_CASE("hybrid: a stopped run goes on as if nothing had happened, on other devices too", "[hybrid]") {
  for (const RunConfig& config : hybrid_runs()) {
    const Folder folder;
    const Ended whole = run(config, folder / "whole.h5", Existing::refuse);
    REQUIRE(whole.result.status == RunStatus::finished);
    RunConfig first = config, second = config;
    first.device = "cpu:2";
    second.device = "debug:2";
    run(first, folder / "part.h5", Existing::refuse, 2);
    const Ended resumed = run(second, folder / "part.h5", Existing::resume);
    CAPTURE(config.model.tables.split);
    CHECK(resumed.result.status == RunStatus::finished);
    CHECK(different(whole.state, resumed.state) == std::vector<std::string>{});
    check_same_log(LogReader(folder / "whole.h5"), LogReader(folder / "part.h5"));
  }
}

TEST_CASE("hybrid: a cut model without compression has the bits of the whole model", "[hybrid]") {
  for (const char* codec : {"fp32", "top-k"}) {
    const Folder folder;
    RunConfig whole = cut_run(), cut = cut_run();
    whole.model.cut = 0;
    cut.model.boundary.codec.name = codec;
    cut.model.boundary.codec.k = 1000;
    const Ended a = run(whole, folder / "whole.h5", Existing::refuse),
                b = run(cut, folder / "cut.h5", Existing::refuse);
    CHECK(a.state.at("weights") == b.state.at("weights"));
    const LogReader log(folder / "cut.h5");
    const auto traffic = log.traffic();
    const auto crossed = std::ranges::count(traffic, netmodel::kActivations,
                                            [](const auto& exchange) { return exchange.traffic.tensor; });
    CHECK(crossed == 2 * whole.steps);
  }
}

TEST_CASE("hybrid: a transformer is cut after a block", "[hybrid]") {
  const Folder folder;
  RunConfig config = transformer_config(folder, "gpt-nano");
  const Ended whole = run(config, folder / "whole.h5", Existing::refuse);
  config.model.cut = 1;
  const Ended cut = run(config, folder / "cut.h5", Existing::refuse);
  CHECK(whole.state.at("weights") == cut.state.at("weights"));
  config.model.boundary.codec.name = "int4";
  const Ended coded = run(config, folder / "coded.h5", Existing::refuse);
  CHECK(coded.result.status == RunStatus::finished);
  CHECK(whole.state.at("weights") != coded.state.at("weights"));
  config.model.cut = 2;
  CHECK_THROWS_WITH(VirtualCluster(config), "the model cannot be cut there (model.cut 2); from 1 to 1; 0: no cut");
}

TEST_CASE("hybrid: evaluations have an AUC, with and without the boundary's codec", "[hybrid]") {
  const Folder folder;
  RunConfig config = dlrm_config();
  const Ended plain = run(config, folder / "plain.h5", Existing::refuse);
  REQUIRE(plain.result.status == RunStatus::finished);
  for (const EvaluationRow& row : LogReader(folder / "plain.h5").evaluations()) {
    CHECK(row.auc > 0);
    CHECK(row.auc < 1);
    CHECK(std::isnan(row.boundary_loss));
    CHECK(std::isnan(row.boundary_auc));
  }
  config.model.boundary.codec.name = "dct-mp";
  config.model.boundary.codec.k = 0.1;
  run(config, folder / "masked.h5", Existing::refuse);
  for (const EvaluationRow& row : LogReader(folder / "masked.h5").evaluations()) {
    CHECK(std::isfinite(row.boundary_loss));
    CHECK(row.boundary_loss != row.loss);
    CHECK(std::isfinite(row.boundary_auc));
  }
}

TEST_CASE("hybrid: a divergence of the tables is named", "[hybrid]") {
  const Folder folder;
  RunConfig config = dlrm_config();
  config.model.tables.lr = 1e39;  // infinite as a float
  const Ended ended = run(config, folder / "run.h5", Existing::refuse);
  CHECK(ended.result.status == RunStatus::diverged);
  CHECK_THAT(ended.result.reason,
             Catch::Contains("weights are finite, but not the model's state 0/embeddings/0/tables"));
}

TEST_CASE("hybrid: what covers shared weights only is refused", "[hybrid]") {
  RunConfig config = dlrm_config();
  config.probe.every = 2;
  CHECK_THROWS_WITH(VirtualCluster(config),
                    "probes do not cover the tables that workers own (probe.every, model dlrm-nano); leave it out");
  config = dlrm_config();
  config.optimizer.name = "cada1";
  CHECK_THROWS_WITH(VirtualCluster(config), Catch::StartsWith("this optimizer compares gradients at old weights"));
  config = dlrm_config();
  config.workers = 4;
  config.model.tables.split = "column";
  config.model.tables.optimizer = "adagrad";
  CHECK_THROWS_WITH(VirtualCluster(config), Catch::StartsWith("row-wise Adagrad needs whole rows"));
  config = mlp_config();
  config.model.cut = 1;
  config.workers = 1;
  CHECK_THROWS_WITH(VirtualCluster(config), Catch::StartsWith("a cut is between two groups of workers"));
  config = mlp_config();
  config.model.boundary.codec.name = "dct-mp";
  CHECK_THROWS_WITH(VirtualCluster(config),
                    "the model has no boundary between workers (boundary.codec dct-mp, model mlp); take a model with "
                    "tables (dlrm-*, des-*), or cut an mlp or a transformer with --model.cut");
}
