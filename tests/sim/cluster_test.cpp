// Whole runs: the same bits whatever computes them, and an end that the log records.

#include "sim/cluster/virtual_cluster.hpp"

#include <cmath>

#include "sim/run/train.hpp"
#include "tests/catch.hpp"
#include "tests/sim/log/log_fixture.hpp"
#include "tests/sim/small_runs.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

RunConfig with_optimizer(RunConfig config, const std::string& optimizer) {
  config.optimizer.name = optimizer;
  config.optimizer.freeze.policy = "fixed:4";
  return config;
}

/// Everything that must not depend on the devices and groups that compute it.
struct Trained {
  std::vector<double> losses, worker_losses;
  std::vector<float> weights;
  double held_out = 0;
  bool compressed = false;

  friend bool operator==(const Trained&, const Trained&) = default;
};

Trained trained(const RunConfig& config, Index evaluate_every = 0) {
  VirtualCluster cluster(config);
  Trained result;
  while (cluster.step() < cluster.steps()) {
    const StepOutcome outcome = cluster.advance();
    result.losses.push_back(outcome.loss);
    result.worker_losses.insert(result.worker_losses.end(), outcome.worker_losses.begin(), outcome.worker_losses.end());
    result.compressed = outcome.report.phase == optim::Phase::compression;
    if (evaluate_every > 0 && outcome.step % evaluate_every == 0) cluster.evaluate();
  }
  result.weights = cluster.weights().to_host();
  result.held_out = cluster.evaluate().loss;
  return result;
}

void check_same_bits(RunConfig config) {
  for (const std::string optimizer : {"adam", "onebit-adam"}) {
    for (const Index batch : {5, 16}) {
      config.batch = batch;
      const Trained expected = trained(with_optimizer(config, optimizer));
      REQUIRE(expected.losses.size() == 9);
      REQUIRE(std::isfinite(expected.losses.back()));
      REQUIRE(expected.compressed == (optimizer == "onebit-adam"));
      for (const int threads : {1, 2, 7}) {
        for (const Index group : {1, 4, 5, 16}) {
          CAPTURE(config.model.name, optimizer, batch, threads, group);
          RunConfig other = with_optimizer(config, optimizer);
          other.threads = threads;
          other.worker_group = group;
          CHECK((trained(other) == expected));
        }
      }
    }
  }
}

/// A run with a log.
struct Logged {
  RunResult result;
  LogReader log;
};

Logged logged(const RunConfig& config, const std::string& path, Index stop_after = -1) {
  VirtualCluster cluster(config);
  RunControl control;
  Index steps = 0;
  control.on_step = [&](const Progress& progress) { steps = progress.step; };
  control.stop_requested = [&] { return steps == stop_after; };
  const RunResult result = train(cluster, config, path, Existing::refuse, {}, control);
  return {result, LogReader(path)};
}

Event last_event(const LogReader& log) {
  return log.events().empty() ? Event{} : log.events().back();
}

RunConfig diverging(RunConfig config, double lr) {
  config.optimizer.lr = lr;
  config.steps = 50;
  return config;
}

/// Expects that the log of a run that ended early is complete and gives the reason.
void check_end(const Logged& run, RunStatus status, const std::string& kind) {
  CHECK(run.result.status == status);
  CHECK(run.log.status() == status);
  CHECK(run.log.closed());
  CHECK(last_event(run.log).kind == kind);
  CHECK(last_event(run.log).text == run.result.reason);
}

}  // namespace

TEST_CASE("cluster: an mlp has the same bits for any number of threads and any grouping") {
  check_same_bits(mlp_config());
}

TEST_CASE("cluster: an ngram has the same bits for any number of threads and any grouping", "[once]") {
  const Folder folder;
  check_same_bits(ngram_config(folder));
}

TEST_CASE("cluster: products of fewer bits have the same bits for any number of threads and any grouping", "[once]") {
  for (const device::Precision precision : {device::Precision::tf32, device::Precision::bf16}) {
    RunConfig config = mlp_config();
    config.model.precision = precision;
    check_same_bits(config);
    CHECK(trained(config).losses != trained(mlp_config()).losses);
  }
}

TEST_CASE("cluster: products of the model alone have fewer bits, not those of codecs") {
  RunConfig config = mlp_config();
  config.model.precision = device::Precision::bf16;
  const VirtualCluster cluster(config);
  CHECK(cluster.replicas().front().shard.device.precision() == device::Precision::fp32);
}

TEST_CASE("cluster: an mlp learns with products in bf16 what it learns with float32") {
  for (const std::string optimizer : {"adam", "onebit-adam"}) {
    RunConfig config = with_optimizer(mlp_config(), optimizer);
    config.data.examples = 4000;
    config.optimizer.freeze.policy = "fixed:50";
    config.steps = 200;
    const double expected = VirtualCluster(config).evaluate().loss;
    const double exact = trained(config).held_out;
    config.model.precision = device::Precision::bf16;
    const double rounded = trained(config).held_out;
    CAPTURE(optimizer, expected, exact, rounded);
    CHECK(exact < 0.5 * expected);
    CHECK(rounded == Approx(exact).epsilon(0.02));
  }
}

TEST_CASE("cluster: gradients accumulated over parts of a batch are those of the whole batch") {
  const Folder folder;
  for (const RunConfig& config : {mlp_config(), ngram_config(folder)}) {
    for (const std::string optimizer : {"adam", "onebit-adam", "cada2"}) {
      RunConfig whole = with_optimizer(config, optimizer), parts = whole;
      whole.batch = 12;
      parts.batch = 4;
      parts.accumulation = 3;
      const Trained expected = trained(whole), result = trained(parts);
      CAPTURE(config.model.name, optimizer);
      for (std::size_t step = 0; step < expected.losses.size(); ++step) {
        CHECK(result.losses[step] == Approx(expected.losses[step]).epsilon(1e-4));
      }
      CHECK(result.held_out == Approx(expected.held_out).epsilon(1e-4));
      CHECK(result.losses.front() == Approx(expected.losses.front()).epsilon(1e-6));
      parts.worker_group = 3;
      parts.threads = 2;
      CHECK((trained(parts) == result));
      CHECK(VirtualCluster(parts).advance().samples == 16 * 12);
    }
  }
}

TEST_CASE("cluster: two workers twice are the same run, another seed is another") {
  RunConfig config = with_optimizer(mlp_config(), "onebit-adam");
  config.workers = 2;
  const Trained first = trained(config);
  CHECK((trained(config) == first));
  config.seed = 2;
  const Trained other = trained(config);
  CHECK(other.losses != first.losses);
  CHECK(other.weights != first.weights);
}

TEST_CASE("cluster: evaluations in between do not change the training") {
  const Folder folder;
  for (const RunConfig& config : {mlp_config(), ngram_config(folder)}) {
    const Trained expected = trained(with_optimizer(config, "onebit-adam"));
    CHECK((trained(with_optimizer(config, "onebit-adam"), 1) == expected));
    CHECK((trained(with_optimizer(config, "onebit-adam"), 2) == expected));
  }
}

TEST_CASE("cluster: the loss of a step is the mean over the workers, and training lowers it") {
  RunConfig config = mlp_config();
  config.steps = 60;
  const Trained run = trained(config);
  double sum = 0;
  for (std::size_t worker = 0; worker < 16; ++worker) sum += run.worker_losses[worker];
  CHECK(run.losses[0] == Approx(sum / 16));
  CHECK(run.losses.back() < 0.8 * run.losses.front());
}

TEST_CASE("cluster: held-out examples are all used where they are few, else as many as asked for") {
  RunConfig config = mlp_config();
  config.data.examples = 10000;
  config.data.holdout = 0.2;
  config.eval.examples = 8192;
  CHECK(VirtualCluster(config).evaluate().examples == 2000);
  config.eval.examples = 600;
  CHECK(VirtualCluster(config).evaluate().examples == 512);
}

TEST_CASE("cluster: a log holds the losses of the run and the traffic of each step") {
  const Folder folder;
  const RunConfig config = with_optimizer(mlp_config(), "onebit-adam");
  const Logged run = logged(config, folder / "run.h5");
  CHECK(run.result.status == RunStatus::finished);
  CHECK(run.result.reason.empty());
  CHECK(run.log.column("steps/loss") == trained(config).losses);
  const std::vector<StepRow> steps = run.log.steps();
  const std::vector<StepTraffic> traffic = run.log.traffic();
  double total = 0;
  for (const StepRow& row : steps) {
    CAPTURE(row.step);
    double up = 0, down = 0;
    Index messages = 0;
    for (const StepTraffic& exchange : traffic) {
      if (exchange.step != row.step) continue;
      up += sent_bytes(exchange.traffic, netmodel::Direction::up).value;
      down += sent_bytes(exchange.traffic, netmodel::Direction::down).value;
      messages += exchange.traffic.messages;
    }
    CHECK(up > 0);
    CHECK(row.bytes_up == up);
    CHECK(row.bytes_down == down);
    CHECK(row.messages == messages);
    CHECK(row.phase == static_cast<Index>(row.step <= 4 ? optim::Phase::warmup : optim::Phase::compression));
    total += up + down;
  }
  CHECK(steps[8].bytes_up < steps[0].bytes_up);
  CHECK(run.log.evaluations().back().bytes == total);
  CHECK(last_event(run.log).kind == "freeze");
  CHECK(last_event(run.log).step == 4);
}

TEST_CASE("cluster: cadences of the log are kept, and the last step is always in it") {
  const Folder folder;
  RunConfig config = mlp_config();
  config.log = {.every = 4, .workers_every = 3, .tensors_every = 5};
  config.eval.every = 2;
  const LogReader log = logged(config, folder / "run.h5").log;
  CHECK(log.column("steps/step") == std::vector<double>{1, 3, 4, 6, 8, 9});
  CHECK(log.column("workers/step") == std::vector<double>{1, 3, 6, 9});
  CHECK(log.column("tensors/step") == std::vector<double>{1, 5, 9});
  CHECK(log.column("evaluations/step") == std::vector<double>{0, 2, 4, 6, 8, 9});
  CHECK(log.traffic().size() == 9);
}

TEST_CASE("cluster: errors that are kept in fewer bytes are the same bits whatever computes them", "[once]") {
  using compress::ErrorType;
  RunConfig config = mlp_config();
  config.model.layers = {9, 61, 3};
  for (const std::string optimizer : {"onebit-adam", "onebit-lamb", "ef-sgd", "ef21", "dgc"}) {
    std::vector<std::vector<float>> weights;
    for (const ErrorType type : {ErrorType::fp32, ErrorType::bf16, ErrorType::int8}) {
      if (optimizer == "dgc" && type == ErrorType::int8) continue;
      RunConfig run = with_optimizer(config, optimizer);
      run.optimizer.exchange.up.name = optim::codec_of(run.optimizer, false);
      run.optimizer.exchange.up.k = 0.1;
      run.optimizer.exchange.error_type = type;
      const Trained expected = trained(run);
      for (const char* devices : {"cpu", "cpu:2", "debug"}) {
        for (const Index group : {1, 5, 16}) {
          run.device = devices;
          run.threads = group == 5 ? 3 : 2;
          run.worker_group = group;
          CAPTURE(optimizer, static_cast<int>(type), devices, group);
          CHECK(trained(run) == expected);
        }
      }
      for (const auto& other : weights) CHECK(other != expected.weights);
      weights.push_back(expected.weights);
    }
  }
}

TEST_CASE("cluster: training takes errors in fewer bytes for what they are") {
  using compress::ErrorType;
  const Folder folder;
  const auto end = [&](const std::string& name, ErrorType type) {
    RunConfig config = with_optimizer(mlp_config(), "onebit-adam");
    config.steps = 200;
    config.optimizer.freeze.policy = "fixed:40";
    config.optimizer.exchange.error_type = type;
    config.log.workers_every = 10;
    return logged(config, folder / (name + ".h5")).log.steps()[189];
  };
  const StepRow exact = end("fp32", ErrorType::fp32);
  REQUIRE(exact.worker_error_norm > 0);
  for (const auto& [name, type] : {std::pair{"bf16", ErrorType::bf16}, {"int8", ErrorType::int8}}) {
    const StepRow row = end(name, type);
    CAPTURE(name);
    CHECK(row.loss == Approx(exact.loss).epsilon(0.1));
    CHECK(row.worker_error_norm == Approx(exact.worker_error_norm).epsilon(0.1));
    CHECK(row.worker_codec_error == Approx(exact.worker_codec_error).epsilon(0.05));
    CHECK(row.worker_error_norm != exact.worker_error_norm);
  }
}

TEST_CASE("cluster: norms per tensor add up to those of the whole, and adam has no trust ratios") {
  const Folder folder;
  const LogReader log = logged(mlp_config(), folder / "run.h5").log;
  const StepRow whole = log.steps().front();
  const TensorRow row = log.tensors().front();
  REQUIRE(row.step == whole.step);
  REQUIRE(row.variance_l1.size() == 4);
  double momentum = 0, l1 = 0, l2 = 0;
  for (std::size_t t = 0; t < 4; ++t) {
    momentum += row.momentum_l2[t] * row.momentum_l2[t];
    l1 += row.variance_l1[t];
    l2 += row.variance_l2[t] * row.variance_l2[t];
    CHECK(row.variance_l2[t] > 0);
    for (const auto* column :
         {&row.trust_ratio, &row.frozen_coefficient, &row.coefficient_factor, &row.scaling_coefficient}) {
      CHECK(std::isnan((*column)[t]));
    }
  }
  CHECK(std::sqrt(momentum) == Approx(whole.momentum_norm));
  CHECK(l1 == Approx(whole.variance_l1));
  CHECK(std::sqrt(l2) == Approx(whole.variance_l2));
}

TEST_CASE("cluster: a run that diverges names the first bad tensor, and its log is complete") {
  const Folder folder;
  RunConfig weights_go = diverging(mlp_config(), 1e38);  // beyond float: the first update makes the weights infinite
  const Logged run = logged(weights_go, folder / "weights.h5");
  check_end(run, RunStatus::diverged, "divergence");
  CHECK_THAT(run.result.reason, Contains("tensor layer2.bias became non-finite first") && Contains("step 2"));
  CHECK(run.log.committed_rows() == 1);

  const Logged late =
      logged(diverging(mlp_config(), 1e25), folder / "gradients.h5");  // finite weights whose product is not finite
  check_end(late, RunStatus::diverged, "divergence");
  CHECK_THAT(late.result.reason, Contains("tensor layer") && Contains("became non-finite first"));
  CHECK(late.log.committed_rows() == late.log.events().back().step - 1);
}

TEST_CASE("cluster: a divergence seen by an evaluation first names the tensor too") {
  const Folder folder;
  RunConfig config = diverging(mlp_config(), 1e38);
  config.eval.every = 1;
  const Logged run = logged(config, folder / "run.h5");
  check_end(run, RunStatus::diverged, "divergence");
  CHECK_THAT(run.result.reason, Contains("held-out loss") && Contains("step 1") && Contains("tensor layer2.weight"));
}

TEST_CASE("cluster: a stop request ends the run after the step, with a complete log") {
  const Folder folder;
  const Logged run = logged(mlp_config(), folder / "run.h5", 3);
  check_end(run, RunStatus::stopped, "stop");
  CHECK(last_event(run.log).step == 3);
  CHECK(run.log.committed_rows() == 3);
  CHECK(run.log.traffic().size() == 3);
  std::vector<double> first = trained(mlp_config()).losses;
  first.resize(3);
  CHECK(run.log.column("steps/loss") == first);
}

TEST_CASE("cluster: a run that never compresses although asked to has failed") {
  const Folder folder;
  RunConfig config = with_optimizer(mlp_config(), "onebit-adam");
  config.optimizer.freeze = {.policy = "auto", .threshold = 1, .lag = 2};
  const Logged run = logged(config, folder / "run.h5");
  check_end(run, RunStatus::failed, "failure");
  CHECK_THAT(run.result.reason, Contains("ended before its compression stage"));
  CHECK(run.log.committed_rows() == 9);
  config.optimizer.freeze.policy = "never";
  CHECK(logged(config, folder / "never.h5").result.status == RunStatus::finished);
}

TEST_CASE("cluster: the automatic freeze comes when the variance is stable") {
  const Folder folder;
  RunConfig config = with_optimizer(mlp_config(), "onebit-adam");
  config.steps = 40;
  config.optimizer.beta2 = 0.9;
  config.optimizer.freeze = {.policy = "auto", .threshold = 0.5, .lag = 5, .after = 12, .dwell = 1};
  const Logged run = logged(config, folder / "run.h5");
  CHECK(run.result.status == RunStatus::finished);
  REQUIRE(last_event(run.log).kind == "freeze");
  const Index freeze = last_event(run.log).step;
  CHECK(freeze >= 12);
  CHECK(freeze < 40);
  CHECK(run.log.steps()[static_cast<std::size_t>(freeze - 1)].variance_ratio_corrected >= 0.5);
}

TEST_CASE("cluster: options out of range are refused by name") {
  const auto refused = [](auto change, const std::string& name) {
    RunConfig config = mlp_config();
    change(config);
    CHECK_THROWS_WITH(validate(config), Contains(name));
  };
  CHECK_NOTHROW(validate(mlp_config()));
  refused([](RunConfig& config) { config.workers = 0; }, "workers 0");
  refused([](RunConfig& config) { config.workers = -1; }, "workers -1");
  refused([](RunConfig& config) { config.batch = 0; }, "batch 0");
  refused([](RunConfig& config) { config.steps = -1; }, "steps -1");
  refused([](RunConfig& config) { config.worker_group = 17; }, "worker-group 17");
  refused([](RunConfig& config) { config.epochs = NAN; }, "epochs");
  refused([](RunConfig& config) { config.epochs = 1; }, "steps, epochs");
  refused([](RunConfig& config) { config.log.every = 0; }, "log.every 0");
  refused([](RunConfig& config) { config.log.flush_seconds = -1; }, "log.flush");
  refused([](RunConfig& config) { config.eval.examples = -1; }, "eval.examples -1");
}

TEST_CASE("cluster: steps follow from epochs") {
  RunConfig config = mlp_config();
  config.steps = 0;
  CHECK(total_steps(config, 800) == 1000);
  config.epochs = 2;
  CHECK(total_steps(config, 800) == 20);
  config.epochs = 1e-9;
  CHECK(total_steps(config, 800) == 1);
}
