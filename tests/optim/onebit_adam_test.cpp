// 1-bit Adam in paper semantics against the oracle.
#include "optim/two_stage/onebit_adam.hpp"

#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/adam.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;
using compress::Granularity;

namespace {

constexpr int kDense = 15;
constexpr Index kSteps = 60;

TrainingOptions onebit_adam(Index workers) {
  TrainingOptions options;
  options.config.name = "onebit-adam";
  options.config.lr = 0.01;
  options.config.freeze.policy = "fixed:" + std::to_string(kDense);
  options.tensors = {200, 0, 3, 97};
  options.workers = workers;
  return options;
}

double difference(const TrainingOptions& options, const oracle::OnebitOptions& onebit, std::uint32_t seed,
                  const std::vector<Index>& silent = {}) {
  const OptimizerConfig& c = options.config;
  const std::vector<float> x0 = oracle::normals(300, seed);
  Training training(options, x0);
  const std::vector<std::size_t> vectors = c.exchange.granularity == Granularity::fused
                                               ? std::vector<std::size_t>{300}
                                               : std::vector<std::size_t>{200, 3, 97};
  oracle::OnebitAdam oracle({c.beta1, c.beta2, c.eps, c.weight_decay, c.clip, c.bias_correction}, onebit,
                            {x0.begin(), x0.end()}, vectors);
  return worst_displacement(training, oracle, {options.workers, 300, seed, silent}, kSteps);
}

}  // namespace

TEST_CASE("1-bit Adam follows the oracle for many numbers of workers and both granularities") {
  for (const Index workers : {1, 2, 3, 8, 12}) {
    for (const auto granularity : {Granularity::tensor, Granularity::fused}) {
      TrainingOptions options = onebit_adam(workers);
      options.config.exchange.granularity = granularity;
      CAPTURE(workers, static_cast<int>(granularity));
      CHECK(difference(options, {.dense_updates = kDense}, 1) < 1e-4);
    }
  }
}

TEST_CASE("1-bit Adam follows the oracle with every option changed") {
  TrainingOptions options = onebit_adam(4);
  oracle::OnebitOptions onebit{.dense_updates = kDense};
  std::vector<Index> silent;
  SECTION("without bias correction") {
    options.config.bias_correction = false;
  }
  SECTION("weight decay") {
    options.config.weight_decay = 0.1;
  }
  SECTION("local clipping") {
    options.config.clip = 14;
  }
  SECTION("betas and eps") {
    options.config.beta1 = 0.8;
    options.config.beta2 = 0.9;
    options.config.eps = 1e-3;
  }
  SECTION("the L1 scale") {
    options.config.exchange.up.name = "sign-l1";
    onebit.norm = oracle::Norm::l1;
  }
  SECTION("coordinates without gradients") {
    silent = {0, 50, 201, 299};
  }
  SECTION("without error feedback") {
    options.config.exchange.feedback = compress::Feedback::none;
    onebit.feedback = false;
  }
  CHECK(difference(options, onebit, 2, silent) < 1e-4);
}

TEST_CASE("1-bit Adam that is never frozen is Adam, bit for bit") {
  TrainingOptions options = onebit_adam(5);
  options.config.freeze.policy = "never";
  options.config.weight_decay = 0.01;
  options.config.clip = 15;
  Training onebit(options, oracle::normals(300, 3));
  options.config.name = "adam";
  Training adam(options, oracle::normals(300, 3));
  for (Index step = 1; step <= 40; ++step) {
    const FloatRows rows = GradientStream{5, 300, 3}(step);
    const StepReport report = onebit.step(rows);
    CHECK(report.traffic == adam.step(rows).traffic);
    CHECK(report.phase == Phase::warmup);
    REQUIRE(onebit.parameters() == adam.parameters());
  }
  CHECK(onebit.optimizer->failed_expectation().empty());
}

TEST_CASE("error feedback matters") {
  TrainingOptions options = onebit_adam(4);
  Training with(options);
  options.config.exchange.feedback = compress::Feedback::none;
  Training without(options);
  for (Index step = 1; step <= kDense + 2; ++step) {
    const FloatRows rows = GradientStream{4, 300, 4}(step);
    with.step(rows);
    without.step(rows);
    CHECK((with.parameters() == without.parameters()) == (step < kDense + 2));  // the first errors act a step later
  }
}

TEST_CASE("the codec of the way down is its own") {
  TrainingOptions options = onebit_adam(4);
  Training same(options);
  options.config.exchange.down = "sign-l2";
  Training named(options);
  options.config.exchange.down = "sign-l1";
  Training other(options);
  for (Index step = 1; step <= kDense + 1; ++step) {
    const FloatRows rows = GradientStream{4, 300, 5}(step);
    same.step(rows);
    named.step(rows);
    other.step(rows);
  }
  CHECK(same.parameters() == named.parameters());
  CHECK(same.parameters() != other.parameters());
}

TEST_CASE("an unknown codec is refused before training") {
  TrainingOptions options = onebit_adam(2);
  options.config.exchange.up.name = "sign-l3";
  CHECK(contains(refusal([&] { Training{options}; }), "unknown codec (sign-l3)"));
  options = onebit_adam(2);
  options.config.exchange.down = "none";
  CHECK(contains(refusal([&] { Training{options}; }), "unknown codec (none)"));
}

TEST_CASE("compressed traffic is the channel's plan") {
  TrainingOptions options = onebit_adam(4);
  options.config.freeze.policy = "fixed:1";
  Training training(options);
  CHECK(training.step(GradientStream{4, 300}(1)).traffic == compress::DenseMean::plan(4, 300));
  const StepReport report = training.step(GradientStream{4, 300}(2));
  REQUIRE(report.traffic.size() == 12);  // four collectives for each of three tensors that are not empty
  CHECK(report.traffic[0].payload_bytes == 224 / 8);
  CHECK(report.traffic[4].tensor == 2);
  CHECK(report.traffic[8].tensor == 3);
}

TEST_CASE("the state can be inspected") {
  TrainingOptions options = onebit_adam(3);
  options.config.freeze.policy = "fixed:2";
  Training training(options);
  for (Index step = 1; step <= 2; ++step) training.step(GradientStream{3, 300}(step));
  const std::vector<float> frozen = training.optimizer->state().variance->to_host();
  for (Index step = 3; step <= 5; ++step) training.step(GradientStream{3, 300}(step));
  const StateView state = training.optimizer->state();
  CHECK(state.variance->to_host() == frozen);
  CHECK(state.exchange->error_stride() == 300);
  CHECK(state.exchange->worker_errors().size() == 900);
  CHECK(oracle::norm(state.exchange->worker_errors().to_host()) > 0);
  CHECK(oracle::norm(state.exchange->server_error().to_host()) > 0);
}
