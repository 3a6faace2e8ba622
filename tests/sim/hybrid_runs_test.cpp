// Whole runs of models of which workers own a part: the same bits everywhere, checkpoints, logs.
#include <cmath>
#include <cstring>
#include <numeric>

#include "device/base/error.hpp"
#include "sim/run/weights_file.hpp"
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

namespace {

/// What one step of SGD with rate 1 changes: the gradient of the weights and the tables.
std::vector<double> changes(RunConfig config, BoundarySums& boundary) {
  config.optimizer.lr = config.model.tables.lr = 1;
  VirtualCluster cluster(config);
  const State before = state_of(cluster);
  boundary = cluster.advance().boundary.value_or(BoundarySums{});
  std::vector<double> result;
  for (const auto& [name, bytes] : state_of(cluster)) {
    if (name != "weights" && !name.ends_with("tables")) continue;
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
      float x = 0, y = 0;
      std::memcpy(&x, before.at(name).data() + at, sizeof x);
      std::memcpy(&y, bytes.data() + at, sizeof y);
      result.push_back(static_cast<double>(x) - static_cast<double>(y));
    }
  }
  return result;
}

}  // namespace

TEST_CASE("hybrid: the cosine is that of what the gradients with and without the codec do", "[hybrid]") {
  for (const std::string split : {"table", "row", "column"}) {
    CAPTURE(split);
    RunConfig config = dlrm_config();
    config.workers = 4;
    config.accumulation = 2;
    config.model.tables.split = split;
    BoundarySums none, boundary;
    const std::vector<double> plain = changes(config, none);
    config.model.boundary.codec.name = "dct-mp";
    config.model.boundary.codec.k = 0.1;
    const std::vector<double> coded = changes(config, boundary);
    const double product = std::inner_product(plain.begin(), plain.end(), coded.begin(), 0.0);
    const double a = std::inner_product(plain.begin(), plain.end(), plain.begin(), 0.0);
    const double b = std::inner_product(coded.begin(), coded.end(), coded.begin(), 0.0);
    CHECK(boundary.cosine() == Approx(product / std::sqrt(a * b)).epsilon(1e-4));
    CHECK(boundary.cosine() > 0.1);
    CHECK(boundary.cosine() < 0.999);
    CHECK(none.gradients.plain == 0);
  }
}

TEST_CASE("hybrid: measures of the boundary are in the rows of /workers' steps, and change nothing", "[hybrid]") {
  const Folder folder;
  RunConfig config = hybrid_runs()[2];
  config.log.workers_every = 3;
  const Ended measured = run(config, folder / "measured.h5", Existing::refuse);
  config.log.workers_every = 0;
  const Ended other = run(config, folder / "other.h5", Existing::refuse);
  CHECK(different(measured.state, other.state) == std::vector<std::string>{});
  for (const StepRow& row : LogReader(folder / "measured.h5").steps()) {
    const bool due = row.step % 3 == 0 || row.step == 1 || row.step == config.steps;
    CAPTURE(row.step);
    for (const double value : {row.boundary_sent_share, row.boundary_forward_kept, row.boundary_backward_kept,
                               row.boundary_gradient_cosine}) {
      CHECK(std::isnan(value) == !due);
      if (due) CHECK((value > 0 && value < 1));
    }
  }
  CHECK(std::isnan(LogReader(folder / "other.h5").steps().front().boundary_gradient_cosine));
}

TEST_CASE("hybrid: a run starts from the weights and tables of another, with any split and workers", "[hybrid]") {
  const Folder folder;
  RunConfig config = dlrm_config();
  VirtualCluster first(config);
  first.advance();
  Model& model = *first.replicas().front().model;
  const std::string path = folder / "weights.h5";
  write_weights(path, model.all_tensors(), first.final_weights(), model.owned_weights());
  config.model.init = path;
  config.seed = 99;  // other initial weights and tables, if there were no file
  for (const std::string split : {"table", "row", "column"}) {
    CAPTURE(split);
    config.model.tables.split = split;
    config.workers = split == "column" ? 4 : 16;
    config.device = split == "column" ? "cpu" : "cpu:2";
    VirtualCluster next(config);
    CHECK(next.final_weights() == first.final_weights());
    for (const Replica& replica : next.replicas()) {
      CHECK(replica.model->owned_weights()->to_host() == model.owned_weights()->to_host());
    }
  }
  CHECK(model.all_tensors().size() == model.tensors().size() + 18);
  CHECK(model.all_tensors().back() == compress::Tensor{"table18", 11 * 4, 11});
}

TEST_CASE("hybrid: a divergence of the tables is named", "[hybrid]") {
  const Folder folder;
  RunConfig config = dlrm_config();
  config.model.tables.lr = 1e39;  // infinite as a float
  const Ended ended = run(config, folder / "run.h5", Existing::refuse);
  CHECK(ended.result.status == RunStatus::diverged);
  CHECK_THAT(ended.result.reason,
             Catch::Contains("weights are finite, but the model's state is not: 0/embeddings/0/tables"));
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
  CHECK_THROWS_WITH(VirtualCluster(config), Catch::StartsWith("a cut needs two groups of workers"));
  config = mlp_config();
  config.model.boundary.codec.name = "dct-mp";
  CHECK_THROWS_WITH(VirtualCluster(config),
                    "the model has no boundary between workers (boundary.codec dct-mp, model mlp); use a model with "
                    "tables (dlrm-*, des-*), or cut an mlp or a transformer with --model.cut");
}
