// 1-bit Adam in deepspeed semantics: the quirks of the released code.
#include "optim/two_stage/onebit_adam.hpp"
#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/adam.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;
using compress::Granularity;

namespace {

TrainingOptions deepspeed(Index workers, int freeze_step) {
  TrainingOptions options;
  options.config.name = "onebit-adam";
  options.config.lr = 0.01;
  options.config.semantics = Semantics::deepspeed;
  options.config.freeze.policy = "fixed:" + std::to_string(freeze_step);
  options.tensors = {50, 7, 43};
  options.workers = workers;
  return options;
}

}  // namespace

TEST_CASE("freeze_step counts the dry run, and one dense update is the minimum") {
  const std::vector<std::pair<int, int>> known = {{0, 1}, {1, 1}, {2, 1}, {3, 2}, {5, 4}, {10, 9}};
  for (const auto& [freeze_step, dense] : known) {
    Training training(deepspeed(2, freeze_step));
    int warmup = 0;
    for (Index step = 1; step <= 14; ++step) {
      const StepReport report = training.step(GradientStream{2, 100}(step));
      CHECK((report.phase == Phase::dry_run) == (step == 1));
      warmup += report.phase == Phase::warmup ? 1 : 0;
      if (step > 1 + dense) CHECK(report.phase == Phase::compression);
    }
    CAPTURE(freeze_step);
    CHECK(warmup == dense);
  }
}

TEST_CASE("the first gradient is averaged on the wire and thrown away") {
  Training training(deepspeed(2, 5), oracle::normals(100, 1));
  const StepReport report = training.step(GradientStream{2, 100}(1));
  CHECK(training.parameters() == oracle::normals(100, 1));
  CHECK(report.traffic == compress::DenseMean::plan(2, 100));
  CHECK(oracle::norm(training.optimizer->state().momentum->to_host()) == 0);
  CHECK(oracle::norm(training.optimizer->state().variance->to_host()) == 0);
}

TEST_CASE("the released code's variant follows the oracle") {
  for (const Index workers : {1, 2, 4, 5}) {
    for (const auto granularity : {Granularity::tensor, Granularity::fused}) {
      TrainingOptions options = deepspeed(workers, 12);
      options.config.exchange.granularity = granularity;
      options.config.weight_decay = 0.01;
      const std::vector<float> x0 = oracle::normals(100, 2);
      Training training(options, x0);
      oracle::OnebitAdam oracle(
          {.weight_decay = 0.01, .bias_correction = false},
          {.dense_updates = 11, .dry_run = true, .padding_counts = true, .mask = false, .exchange_alone = false},
          {x0.begin(), x0.end()},
          granularity == Granularity::fused ? std::vector<std::size_t>{100} : std::vector<std::size_t>{50, 7, 43});
      CAPTURE(workers, static_cast<int>(granularity));
      CHECK(worst_displacement(training, oracle, {workers, 100, 2}, 60) < 1e-4);
    }
  }
}

TEST_CASE("one worker neither exchanges nor compresses") {
  Training training(deepspeed(1, 3));
  for (Index step = 1; step <= 6; ++step) {
    const StepReport report = training.step(GradientStream{1, 100}(step));
    CHECK(report.traffic.empty() == (report.phase == Phase::compression));
  }
  CHECK(oracle::norm(training.optimizer->state().exchange->worker_errors().to_host()) == 0);
}

TEST_CASE("a coordinate without gradients is not masked and runs away") {
  Training training(deepspeed(4, 5));
  for (Index step = 1; step <= 6; ++step) {
    const StepReport report = training.step(GradientStream{4, 100, 3, {60}}(step));
    CHECK(report.masked == 0);
    CHECK((std::fabs(training.parameters()[60]) > 1000) == (report.phase == Phase::compression));
  }
}

TEST_CASE("errors have room for the padding") {
  Training training(deepspeed(4, 2));
  for (Index step = 1; step <= 3; ++step) training.step(GradientStream{4, 100}(step));
  CHECK(training.optimizer->state().exchange->error_stride() == 64 + 32 + 64);
  const std::vector<float> errors = training.optimizer->state().exchange->worker_errors().to_host();
  CHECK(errors[63] != 0);
}
