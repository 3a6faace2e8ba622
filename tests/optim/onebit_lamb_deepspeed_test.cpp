// 1-bit LAMB in deepspeed semantics: the quirks of the released code.
#include "optim/two_stage/onebit_lamb.hpp"
#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/lamb.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

const std::vector<Index> kTensors = {50, 7, 0, 43};

TrainingOptions deepspeed(Index workers, int freeze_step) {
  TrainingOptions options;
  options.config.name = "onebit-lamb";
  options.config.lr = 0.01;
  options.config.semantics = Semantics::deepspeed;
  options.config.freeze.policy = "fixed:" + std::to_string(freeze_step);
  options.tensors = kTensors;
  options.workers = workers;
  return options;
}

double difference(const TrainingOptions& options, const oracle::OnebitLambOptions& onebit) {
  const OptimizerConfig& c = options.config;
  const std::vector<float> x0 = oracle::normals(100, 2);
  Training training(options, x0);
  oracle::OnebitLamb oracle({.adam = {c.beta1, c.beta2, c.eps, c.weight_decay, c.clip, false},
                             .min_coeff = c.lamb.min_coeff,
                             .max_coeff = c.lamb.max_coeff,
                             .tensors = {kTensors.begin(), kTensors.end()},
                             .undecayed = {}},
                            onebit, {x0.begin(), x0.end()});
  return worst_displacement(training, oracle, {options.workers, 100, 2}, 60);
}

}  // namespace

TEST_CASE("the released 1-bit LAMB follows the oracle") {
  for (const Index workers : {1, 2, 4, 5}) {
    for (const double decay : {0.0, 0.01}) {
      TrainingOptions options = deepspeed(workers, 12);
      options.config.weight_decay = decay;
      CAPTURE(workers, decay);
      CHECK(difference(options, {.dense_updates = 11, .released = true}) < 1e-4);
    }
  }
}

TEST_CASE("the released 1-bit LAMB sends its padding again and again") {
  TrainingOptions options = deepspeed(4, 2);  // 100 parameters, padded to 128
  Training training(options);
  for (Index step = 1; step <= 2; ++step) training.step(GradientStream{4, 100}(step));
  const StepReport report = training.step(GradientStream{4, 100}(3));
  CHECK(report.traffic[0].payload_bytes == 128 / 8);
  CHECK(training.optimizer->state().exchange->error_stride() == 128);
  // There the first exchange's input is 0, so the error is minus the scale, the same everywhere.
  const std::vector<float> first = training.optimizer->state().exchange->worker_errors().to_host();
  CHECK(first[100] < 0);
  CHECK(first[127] == first[100]);
  // There the second exchange's input is the error plus the output of the first; with the error alone it would be
  // negative.
  training.step(GradientStream{4, 100}(4));
  const std::vector<float> second = training.optimizer->state().exchange->worker_errors().to_host();
  CHECK(second[127] != first[127]);
}

TEST_CASE("with a freeze_step of 0 or 1 the fresh variance starts at zero") {
  for (const int freeze_step : {0, 1}) {
    CHECK(difference(deepspeed(4, freeze_step), {.dense_updates = 1, .released = true, .fresh_from_zero = true}) <
          1e-4);
  }
  Training training(deepspeed(2, 1));
  for (Index step = 1; step <= 5; ++step) training.step(GradientStream{2, 100}(step));
  const double three_steps_up = 1.1 * 1.1 * 1.1;
  CHECK(training.optimizer->state().tensors->coefficient_factor[0] == Approx(three_steps_up));
}

TEST_CASE("a trust ratio that always was 1 freezes the released code's tensor at a coefficient of 0") {
  TrainingOptions options = deepspeed(2, 4);
  options.config.lamb.min_coeff = options.config.lamb.max_coeff = 1;
  Training training(options, oracle::normals(100, 5));
  std::vector<float> frozen;
  for (Index step = 1; step <= 7; ++step) {
    const StepReport report = training.step(GradientStream{2, 100}(step));
    if (report.phase == Phase::warmup) frozen = training.parameters();
    if (report.phase == Phase::compression) CHECK(training.parameters() == frozen);
  }
  CHECK(training.optimizer->state().tensors->frozen_coefficient[0] == 0);
}

TEST_CASE("a momentum that is zero at the freeze is an error that names the tensor") {
  TrainingOptions options = deepspeed(2, 3);
  Training training(options);
  const GradientStream stream{2, 100, 1, {50, 51, 52, 53, 54, 55, 56}};
  for (Index step = 1; step <= 2; ++step) training.step(stream(step));
  std::string message;
  try {
    training.step(stream(3));
  } catch (const NumericError& error) {
    message = error.what();
  }
  CHECK(contains(message, "momentum is zero"));
  CHECK(contains(message, "tensor tensor1"));
}

TEST_CASE("one worker of the released 1-bit LAMB neither exchanges nor compresses") {
  Training training(deepspeed(1, 3));
  for (Index step = 1; step <= 6; ++step) {
    const StepReport report = training.step(GradientStream{1, 100}(step));
    CHECK(report.traffic.empty() == (report.phase == Phase::compression));
  }
  CHECK(oracle::norm(training.optimizer->state().exchange->worker_errors().to_host()) == 0);
}
