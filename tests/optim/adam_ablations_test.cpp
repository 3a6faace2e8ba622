// The ablations of 1-bit Adam: no compression after the freeze, and no freeze.
#include "optim/adam/adam_naive_ec.hpp"
#include "optim/two_stage/onebit_adam.hpp"
#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/adam.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

constexpr int kDense = 15;

TrainingOptions ablation(const std::string& name, Index workers) {
  TrainingOptions options;
  options.config.name = name;
  options.config.lr = 0.01;
  options.config.freeze.policy = "fixed:" + std::to_string(kDense);
  options.config.exchange.granularity = compress::Granularity::fused;
  options.tensors = {200, 0, 3, 97};
  options.workers = workers;
  return options;
}

oracle::AdamOptions oracle_options(const OptimizerConfig& c) {
  const bool correct = c.bias_correction && c.semantics == Semantics::paper;
  return {c.beta1, c.beta2, c.eps, c.weight_decay, c.clip, correct};
}

double difference_32(const TrainingOptions& options, const std::vector<Index>& silent) {
  const std::vector<float> x0 = oracle::normals(300, 1);
  const bool deepspeed = options.config.semantics == Semantics::deepspeed;
  Training training(options, x0);
  oracle::OnebitAdam oracle(
      oracle_options(options.config),
      {.dense_updates = deepspeed ? kDense - 1 : kDense, .dry_run = deepspeed, .mask = !deepspeed, .identity = true},
      {x0.begin(), x0.end()}, {300});
  return worst_displacement(training, oracle, {options.workers, 300, 1, silent}, 60);
}

double difference_naive(const TrainingOptions& options) {
  const std::vector<float> x0 = oracle::normals(300, 2);
  Training training(options, x0);
  oracle::AdamNaiveEc oracle(oracle_options(options.config), {x0.begin(), x0.end()},
                             static_cast<std::size_t>(options.workers),
                             options.config.semantics == Semantics::deepspeed);
  return worst_displacement(training, oracle, {options.workers, 300, 2}, 60);
}

void change(OptimizerConfig& config, const std::string& what) {
  if (what == "without bias correction") config.bias_correction = false;
  if (what == "weight decay") config.weight_decay = 0.1;
  if (what == "clipping") config.clip = 19;  // of some rows: equal norms would make ties of workers' signs
  if (what == "deepspeed semantics") config.semantics = Semantics::deepspeed;
}

const std::vector<std::string> kChanges = {"nothing", "without bias correction", "weight decay", "clipping",
                                           "deepspeed semantics"};

}  // namespace

TEST_CASE("1-bit Adam in 32 bits follows the oracle") {
  for (const Index workers : {1, 3, 8}) {
    for (const std::string& what : kChanges) {
      TrainingOptions options = ablation("onebit-adam-32", workers);
      change(options.config, what);
      CAPTURE(workers, what);
      CHECK(difference_32(options, {}) < 1e-5);
    }
  }
  CHECK(difference_32(ablation("onebit-adam-32", 4), {0, 50, 299}) < 1e-5);
}

TEST_CASE("1-bit Adam in 32 bits sends what Adam sends, and freezes") {
  TrainingOptions options = ablation("onebit-adam-32", 4);
  options.config.freeze.policy = "fixed:2";
  Training training(options);
  std::vector<float> frozen;
  for (Index step = 1; step <= 5; ++step) {
    const StepReport report = training.step(GradientStream{4, 300}(step));
    CHECK(report.phase == (step <= 2 ? Phase::warmup : Phase::compression));
    CHECK(report.traffic == compress::DenseMean::plan(4, 300));
    if (step == 2) frozen = training.optimizer->state().variance->to_host();
  }
  CHECK(training.optimizer->state().variance->to_host() == frozen);
  CHECK(training.optimizer->state().exchange == nullptr);
  CHECK(training.optimizer->failed_expectation().empty());
}

TEST_CASE("naive error-compensated Adam follows the oracle") {
  for (const Index workers : {1, 3, 8}) {
    for (const std::string& what : kChanges) {
      TrainingOptions options = ablation("adam-naive-ec", workers);
      change(options.config, what);
      CAPTURE(workers, what);
      CHECK(difference_naive(options) < 1e-4);
    }
  }
}

TEST_CASE("naive error-compensated Adam with the identity for a codec is Adam") {
  TrainingOptions options = ablation("adam-naive-ec", 4);
  options.config.exchange.up.name = "fp32";
  const std::vector<float> x0 = oracle::normals(300, 3);
  Training training(options, x0);
  oracle::Adam adam(oracle_options(options.config), {x0.begin(), x0.end()});
  CHECK(worst_displacement(training, adam, {4, 300, 3}, 60) < 1e-5);
}

TEST_CASE("naive error-compensated Adam compresses from the first step on, and the variance takes it") {
  Training training(ablation("adam-naive-ec", 4));
  std::vector<float> variance(300);
  for (Index step = 1; step <= 4; ++step) {
    const StepReport report = training.step(GradientStream{4, 300}(step));
    CHECK(report.phase == Phase::compression);
    CHECK(report.traffic.size() == 4);
    const StateView state = training.optimizer->state();
    CHECK(state.exchanged);
    CHECK(state.variance->to_host() != variance);
    variance = state.variance->to_host();
  }
  for (std::size_t i = 1; i < 75; ++i) CHECK(variance[i] == variance[0]);  // a server's signs have one size
}
