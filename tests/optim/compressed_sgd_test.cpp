// Compressed relatives of SGD compared with oracles: error feedback at servers and workers, momentum on either side.
#include "optim/sgd/compressed_sgd.hpp"

#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/sgd_family.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

constexpr Index kParameters = 300;
constexpr double kMomentum = 0.7;

TrainingOptions training_options(const std::string& name, const std::string& codec) {
  TrainingOptions options;
  options.config.name = name;
  options.config.momentum = kMomentum;
  options.config.exchange.up.name = codec;
  options.tensors = {kParameters};
  options.workers = 5;
  return options;
}

std::shared_ptr<oracle::Exchange> exchange_of(const TrainingOptions& options) {
  const std::string& codec = options.config.exchange.up.name;
  if (codec == "fp32") return std::make_shared<oracle::Exchange>();
  return std::make_shared<oracle::SignExchange>(static_cast<std::size_t>(options.workers), kParameters,
                                                codec == "sign-l1" ? oracle::Norm::l1 : oracle::Norm::l2);
}

oracle::EfSgd oracle_of(const TrainingOptions& options, const std::vector<float>& x0) {
  const OptimizerConfig& c = options.config;
  const bool after = c.name == "ef-momentum-sgd";
  const bool before = c.name == "dist-ef-sgdm" || c.name == "ef-sgdm";
  return {{after ? c.momentum : 0, c.nesterov, c.weight_decay, c.clip},
          {x0.begin(), x0.end()},
          exchange_of(options),
          !after,
          before ? c.momentum : 0,
          c.name == "dist-ef-sgdm" || c.nesterov};
}

/// Returns the worst relative difference of the displacement while the learning rate rises and falls.
double difference(const TrainingOptions& options, std::uint32_t seed) {
  const std::vector<float> x0 = oracle::normals(kParameters, seed);
  const GradientStream gradients{options.workers, kParameters, seed};
  Training training(options, x0);
  oracle::EfSgd oracle = oracle_of(options, x0);
  double worst = 0;
  for (Index step = 1; step <= 60; ++step) {
    const double lr = step < 20 ? 0.001 * static_cast<double>(step) : step < 40 ? 0.02 : 0.002;
    training.options.config.lr = lr;
    const FloatRows rows = gradients(step);
    training.step(rows);
    oracle.step(lr, wide(rows));
    worst = std::max(worst, oracle::distance(training.parameters(), oracle.x) / oracle::distance(oracle.x, x0));
  }
  return worst;
}

}  // namespace

TEST_CASE("SGD with error feedback follows its oracle while the learning rate changes", "[once]") {
  const std::string name = GENERATE("ef-sgd", "ef-momentum-sgd", "dist-ef-sgdm", "ef-sgdm");
  const std::string codec = GENERATE("fp32", "sign-l1", "sign-l2");
  for (const std::string& backend : backends()) {
    TrainingOptions options = training_options(name, codec);
    options.backend = backend;
    CAPTURE(name, codec, backend);
    CHECK(difference(options, 1) < 1e-4);
    options.config.nesterov = name == "ef-momentum-sgd" || name == "ef-sgdm";
    options.config.weight_decay = 0.1;
    options.config.clip = 15;
    CHECK(difference(options, 2) < 1e-4);
  }
}

TEST_CASE("dense steps are those of SGD, carry no errors, and are the warm-up") {
  TrainingOptions options = training_options("ef-momentum-sgd", "sign-l1");
  options.config.exchange.dense_steps = 3;
  TrainingOptions dense = training_options("momentum-sgd", "fp32");
  const std::vector<float> x0 = oracle::normals(kParameters, 7);
  const GradientStream gradients{options.workers, kParameters, 7};
  Training training(options, x0), plain(dense, x0);
  for (Index step = 1; step <= 5; ++step) {
    const StepReport report = training.step(gradients(step));
    plain.step(gradients(step));
    CAPTURE(step);
    CHECK(report.phase == (step <= 3 ? Phase::warmup : Phase::compression));
    CHECK(training.optimizer->state().exchanged == (step > 3));
    CHECK((training.parameters() == plain.parameters()) == (step <= 3));
    const std::vector<float> errors = training.optimizer->state().exchange->worker_errors().to_host({0, 1});
    CHECK(std::ranges::any_of(errors, [](float e) { return e != 0; }) == (step > 3));
  }
}

TEST_CASE("errors are kept as steps, so the rate at which they arose counts") {
  for (const std::string name : {"ef-sgd", "dist-ef-sgdm"}) {
    TrainingOptions options = training_options(name, "sign-l1");
    options.tensors = {2};
    options.workers = 1;
    options.config.momentum = 0;
    options.config.exchange.down = "fp32";
    options.config.lr = 1;
    Training training(options);
    training.step({{3, 1}});  // sends 2, 2; errors 1, -1
    CHECK(training.parameters() == std::vector<float>{-2, -2});
    training.options.config.lr = 0.5;
    training.step({{1, 1}});  // 1 + 2 * 1, 1 - 2 * 1: sends 2, -2
    CHECK(training.parameters() == std::vector<float>{-3, -1});
  }
}

TEST_CASE("without a codec's loss SGD with momentum after the exchange is momentum SGD") {
  TrainingOptions options = training_options("ef-momentum-sgd", "fp32");
  options.config.weight_decay = 0.1;
  options.config.nesterov = GENERATE(false, true);
  Training compressed(options, oracle::normals(kParameters, 3));
  options.config.name = "momentum-sgd";
  Training dense(options, oracle::normals(kParameters, 3));
  for (Index step = 1; step <= 20; ++step) {
    const FloatRows rows = GradientStream{5, kParameters, 3}(step);
    CHECK(compressed.step(rows).phase == Phase::compression);
    dense.step(rows);
  }
  CHECK(oracle::distance(compressed.parameters(), dense.parameters()) < 1e-5);
}

TEST_CASE("compressed SGD reports its workers' clipping and shows its exchange") {
  TrainingOptions options = training_options("ef-sgd", "sign-l1");
  options.tensors = {2};
  options.workers = 2;
  options.config.clip = 2.5;
  Training training(options);
  CHECK_FALSE(training.optimizer->state().exchanged);
  const StepReport report = training.step({{3, 4}, {0, 1}});
  CHECK(report.grad_norm == Approx(std::sqrt(13.0)));  // of 5 and 1
  CHECK(report.clip_share == 0.5);
  CHECK(training.optimizer->state().exchanged);
  CHECK(training.optimizer->state().exchange->plan() == report.traffic);
}
