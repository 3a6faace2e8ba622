#include "optim/adam/adam.hpp"

#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/adam.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

TrainingOptions adam(Index parameters, Index workers) {
  TrainingOptions options;
  options.config.name = "adam";
  options.config.lr = 0.01;
  options.tensors = {parameters};
  options.workers = workers;
  return options;
}

oracle::AdamOptions oracle_options(const OptimizerConfig& config) {
  return {config.beta1, config.beta2, config.eps, config.weight_decay, config.clip, config.bias_correction};
}

/// Returns the worst relative difference from the oracle over 60 steps.
double difference(const TrainingOptions& options, std::uint32_t seed) {
  const std::vector<float> x0 = oracle::normals(options.tensors[0], seed);
  Training training(options, x0);
  oracle::AdamOptions reference = oracle_options(options.config);
  if (options.config.semantics == Semantics::deepspeed) reference.bias_correction = false;
  oracle::Adam oracle(reference, {x0.begin(), x0.end()});
  return worst_displacement(training, oracle, {options.workers, options.tensors[0], seed}, 60);
}

}  // namespace

TEST_CASE("adam's first step by hand") {
  TrainingOptions options = adam(2, 2);
  Training training(options, {1, 1});
  const StepReport report = training.step({{3, -1}, {5, -3}});  // mean 4, -2
  CHECK(static_cast<double>(training.parameters()[0]) == Approx(0.99));
  CHECK(static_cast<double>(training.parameters()[1]) == Approx(1.01));
  CHECK(static_cast<double>(training.optimizer->state().momentum->to_host()[0]) == Approx(0.4));
  CHECK(static_cast<double>(training.optimizer->state().variance->to_host()[0]) == Approx(0.016));
  CHECK(report.grad_norm == Approx(std::sqrt(20.0)));
  CHECK(report.update_norm == Approx(0.01 * std::sqrt(2.0)));
  CHECK(report.clip_share == 0);
  CHECK(report.phase == Phase::dense);
  CHECK(report.traffic == compress::DenseMean::plan(2, 2));
  CHECK(std::isnan(report.stability.raw));
}

TEST_CASE("adam follows the oracle") {
  for (const Index workers : {1, 4, 7}) CHECK(difference(adam(300, workers), 1) < 1e-5);
}

TEST_CASE("adam follows the oracle with every option changed") {
  TrainingOptions options = adam(300, 4);
  SECTION("without bias correction") {
    options.config.bias_correction = false;
  }
  SECTION("weight decay") {
    options.config.weight_decay = 0.1;
  }
  SECTION("clipping") {
    options.config.clip = 2;
  }
  SECTION("betas") {
    options.config.beta1 = 0.5;
    options.config.beta2 = 0.9;
  }
  SECTION("no memory") {
    options.config.beta1 = 0;
    options.config.beta2 = 0;
  }
  SECTION("eps") {
    options.config.eps = 0.1;
  }
  SECTION("deepspeed semantics have no bias correction") {
    options.config.semantics = Semantics::deepspeed;
  }
  CHECK(difference(options, 2) < 1e-5);
}

TEST_CASE("clipping scales the mean gradient down to the bound") {
  TrainingOptions options = adam(2, 2);
  options.config.clip = 2.5;
  Training training(options);
  const StepReport report = training.step({{3, 4}, {3, 4}});  // norm 5
  CHECK(report.grad_norm == Approx(5));
  CHECK(report.clip_share == 1);
  CHECK(static_cast<double>(training.optimizer->state().momentum->to_host()[0]) == Approx(0.1 * 1.5));
  CHECK(training.step({{3, 4}, {-3, -4}}).clip_share == 0);  // long gradients, short mean
}

TEST_CASE("adam never freezes and never complains") {
  TrainingOptions options = adam(3, 1);
  options.config.freeze.policy = "fixed:2";
  Training training(options);
  for (int step = 0; step < 5; ++step) CHECK(training.step({{1, 2, 3}}).phase == Phase::dense);
  CHECK(training.optimizer->failed_expectation().empty());
  CHECK(training.optimizer->state().exchange == nullptr);
}
