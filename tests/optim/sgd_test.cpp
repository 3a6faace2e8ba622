#include "optim/sgd/sgd.hpp"

#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/sgd_family.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

TrainingOptions momentum_sgd(Index workers) {
  TrainingOptions options;
  options.config.name = "momentum-sgd";
  options.config.lr = 0.01;
  options.tensors = {200, 0, 3, 97};
  options.workers = workers;
  return options;
}

}  // namespace

TEST_CASE("momentum SGD's first two steps by hand") {
  TrainingOptions options = momentum_sgd(2);
  options.tensors = {1};
  options.config.lr = 0.5;
  options.config.momentum = 0.5;
  SECTION("heavy ball") {
    Training training(options, {1});
    training.step({{3}, {5}});
    CHECK(training.parameters()[0] == -1);  // 1 - 0.5 * 4
    const StepReport report = training.step({{1}, {3}});
    CHECK(training.parameters()[0] == -3);  // m = 2 + 2
    CHECK(training.optimizer->state().momentum->to_host() == std::vector<float>{4});
    CHECK(report.grad_norm == Approx(2));
    CHECK(report.update_norm == Approx(2));
    CHECK(report.phase == Phase::dense);
    CHECK(report.traffic == compress::DenseMean::plan(2, 1));
  }
  SECTION("Nesterov") {
    options.config.nesterov = true;
    Training training(options, {1});
    training.step({{3}, {5}});
    CHECK(training.parameters()[0] == -2);  // 1 - 0.5 * (4 + 0.5 * 4)
    training.step({{1}, {3}});
    CHECK(training.parameters()[0] == -4);  // m = 4; 2 + 0.5 * 4
  }
  SECTION("plain") {
    options.config.name = "sgd";
    Training training(options, {1});
    training.step({{3}, {5}});
    training.step({{1}, {3}});
    CHECK(training.parameters()[0] == -2);
    CHECK(training.optimizer->state().momentum == nullptr);
  }
}

TEST_CASE("SGD and momentum SGD follow the oracle with every option changed") {
  TrainingOptions options = momentum_sgd(GENERATE(1, 4, 7));
  options.backend = GENERATE(from_range(backends()));
  oracle::SgdOptions reference{.momentum = 0.9};
  SECTION("defaults") {}
  SECTION("plain") {
    options.config.name = "sgd";
    reference.momentum = 0;
  }
  SECTION("Nesterov, another momentum") {
    options.config.momentum = reference.momentum = 0.6;
    options.config.nesterov = reference.nesterov = true;
  }
  SECTION("weight decay and clipping") {
    options.config.weight_decay = reference.weight_decay = 0.5;
    options.config.clip = reference.clip = 2;
  }
  const std::vector<float> x0 = oracle::normals(300, 1);
  Training training(options, x0);
  oracle::Sgd oracle(reference, {x0.begin(), x0.end()});
  CHECK(worst_displacement(training, oracle, {options.workers, 300, 1}, 60) < 1e-5);
}

TEST_CASE("tensors that fit a no-decay pattern keep their weights") {
  TrainingOptions options = momentum_sgd(4);
  options.config.weight_decay = 0.5;
  options.config.no_decay = {"tensor2"};
  const std::vector<float> x0 = oracle::normals(300, 2);
  Training training(options, x0);
  oracle::Sgd oracle({.momentum = 0.9, .weight_decay = 0.5}, {x0.begin(), x0.end()});
  for (std::size_t i = 200; i < 203; ++i) oracle.decays[i] = 0;
  CHECK(worst_displacement(training, oracle, {4, 300, 2}, 30) < 1e-5);

  options.config.no_decay = {"bias*"};
  CHECK(contains(refusal([&] { Training{options}; }), "optimizer.no-decay bias*"));
}
