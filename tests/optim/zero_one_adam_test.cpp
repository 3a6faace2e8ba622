// 0/1 Adam compared with the oracle, what it sends, and how its workers synchronize.
#include "optim/zero_one/zero_one_adam.hpp"

#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/zero_one_adam.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

// The rounds of this configuration.
const std::string kRounds = "FFF1F1F111F111F11111SSSSS.S...S...S...S...S...S...S...S...S.";
constexpr Index kSteps = 60;

TrainingOptions zero_one_adam(Index workers) {
  TrainingOptions options;
  options.config.name = "zeroone-adam";
  options.config.lr = 0.01;
  options.config.zeroone = {
      .var_freeze_step = 20, .var_update_scaler = 2, .local_step_scaler = 4, .local_step_clipper = 4};
  options.tensors = {100};
  options.workers = workers;
  return options;
}

/// Largest relative difference of all workers' displacements from the oracle's.
double difference(const TrainingOptions& options, const std::vector<Index>& silent = {}) {
  const OptimizerConfig& c = options.config;
  const bool released = c.semantics == Semantics::deepspeed;
  const std::vector<float> x0 = oracle::normals(100, 5);
  Training training(options, x0);
  oracle::ZeroOneAdam oracle({c.beta1, c.beta2, c.eps, c.weight_decay, 0, c.bias_correction && !released}, kRounds,
                             static_cast<std::size_t>(options.workers), {x0.begin(), x0.end()}, released);
  const GradientStream gradients{options.workers, 100, 5, silent};
  if (released) training.step(gradients(0));  // the dry run
  double worst = 0;
  for (Index step = 1; step <= kSteps; ++step) {
    const FloatRows rows = gradients(step);
    training.step(rows);
    oracle.step(c.lr, wide(rows));
    const std::vector<float> all = training.all_parameters();
    for (std::size_t w = 0; w < oracle.x.size(); ++w) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(w) * 100;
      const double away = oracle::distance(std::vector<float>(begin, begin + 100), oracle.x[w]);
      worst = std::max(worst, std::isfinite(away) ? away / oracle::distance(oracle.x[w], x0) : 1e9);
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("0/1 Adam follows the oracle for many numbers of workers") {
  for (const Index workers : {1, 2, 3, 8}) {
    CAPTURE(workers);
    CHECK(difference(zero_one_adam(workers)) < 1e-4);
  }
}

TEST_CASE("0/1 Adam follows the oracle with other options") {
  TrainingOptions options = zero_one_adam(4);
  std::vector<Index> silent;
  SECTION("without bias correction") {
    options.config.bias_correction = false;
  }
  SECTION("weight decay") {
    options.config.weight_decay = 0.1;
  }
  SECTION("betas and eps") {
    options.config.beta1 = 0.8;
    options.config.beta2 = 0.9;
    options.config.eps = 1e-3;
  }
  SECTION("coordinates without gradients") {
    silent = {0, 50, 99};
  }
  CHECK(difference(options, silent) < 1e-4);
}

TEST_CASE("0/1 Adam as released follows the oracle, with its leak of weight decay") {
  for (const Index workers : {2, 4, 5}) {
    for (const double decay : {0.0, 0.1}) {
      TrainingOptions options = zero_one_adam(workers);
      options.config.semantics = Semantics::deepspeed;
      options.config.weight_decay = decay;
      CAPTURE(workers, decay);
      CHECK(difference(options) < 1e-4);
    }
  }
}

TEST_CASE("0/1 Adam sends what its rounds say, and nothing in silent steps") {
  for (const Index workers : {1, 4}) {
    TrainingOptions options = zero_one_adam(workers);
    options.total_steps = kSteps;
    Training training(options, oracle::normals(100, 1));
    const compress::CompressedMean exchange(device::whole(training.device, workers), compress::unnamed({{100}}), {});
    for (Index step = 1; step <= kSteps; ++step) {
      const StepReport report = training.step(GradientStream{workers, 100}(step));
      const char round = step == kSteps ? 'S' : kRounds[static_cast<std::size_t>(step - 1)];  // the last step syncs
      const netmodel::TrafficList dense = compress::DenseMean::plan(workers, 100);
      CAPTURE(step, round);
      CHECK(report.traffic == (round == 'F' ? dense : round == '.' ? netmodel::TrafficList{} : exchange.plan()));
      CHECK(report.phase == (round == 'F' ? Phase::warmup : round == '1' ? Phase::compression : Phase::local));
      CHECK(report.synchronised == (round != '.'));
      CHECK(training.optimizer->state().exchanged == (round == '1' || round == 'S'));
      CHECK(report.events.size() == (step == 20 ? 1 : 0));
    }
  }
}

TEST_CASE("0/1 Adam forgets its errors once, at the freeze") {
  Training training(zero_one_adam(4), oracle::normals(100, 1));
  const auto error = [&] { return oracle::norm(training.optimizer->state().exchange->worker_errors().to_host()); };
  for (Index step = 1; step <= 26; ++step) {
    training.step(GradientStream{4, 100}(step));
    CAPTURE(step);
    CHECK((error() == 0) == (step < 4 || step == 20));
  }
}

TEST_CASE("0/1 Adam masks coordinates without variance in every phase") {
  const std::vector<Index> silent = {3, 60};
  Training training(zero_one_adam(4), oracle::normals(100, 1));
  const std::vector<float> before = training.parameters();
  for (Index step = 1; step <= 40; ++step) {
    const StepReport report = training.step(GradientStream{4, 100, 3, silent}(step));
    CHECK(report.masked == (step < 20 ? 0 : 2));
    for (const Index i : silent) {
      CAPTURE(step, i);
      CHECK(training.parameters()[static_cast<std::size_t>(i)] == before[static_cast<std::size_t>(i)]);
    }
  }
}

TEST_CASE("a gradient at a masked coordinate in 0/1 Adam's local phase is an event, once") {
  Training training(zero_one_adam(4), oracle::normals(100, 1));
  std::vector<std::string> kinds;
  for (Index step = 1; step <= 24; ++step) {
    const GradientStream gradients{4, 100, 3, step <= 20 ? std::vector<Index>{7} : std::vector<Index>{}};
    for (const Event& event : training.step(gradients(step)).events) kinds.push_back(event.kind);
  }
  CHECK(kinds == std::vector<std::string>{"freeze", "masked"});
}

TEST_CASE("the released 0/1 Adam: weight decay ten times as fast, replicas that rounding keeps apart") {
  TrainingOptions options = zero_one_adam(4);
  options.config.semantics = Semantics::deepspeed;
  options.config.zeroone = {
      .var_freeze_step = 20, .var_update_scaler = 2, .local_step_scaler = 100000, .local_step_clipper = 1};
  options.config.lr = 1e-3;
  options.config.weight_decay = 0.01;
  Training training(options, std::vector<float>(100, 1.0f));
  for (Index step = 1; step <= 21; ++step) training.step(FloatRows(4, std::vector<float>(100)));
  const auto x = [&] { return static_cast<double>(training.parameters()[0]); };
  const double before = x();
  CHECK(before == Approx(1 - 20 * 1e-5).epsilon(1e-6));
  for (Index step = 22; step <= 1021; ++step) training.step(FloatRows(4, std::vector<float>(100)));
  CHECK((before - x()) / (1000 * 1e-5) == Approx(10).epsilon(0.1));

  Training noisy(zero_one_adam(4), oracle::normals(100, 1));
  options = noisy.options;
  options.config.semantics = Semantics::deepspeed;
  Training released(options, oracle::normals(100, 1));
  double apart = 0;
  for (Index step = 1; step <= 60; ++step) {
    const StepReport report = released.step(GradientStream{4, 100}(step));
    const std::vector<float> all = released.all_parameters();
    if (!report.synchronised || step < 40) continue;
    for (std::size_t i = 100; i < all.size(); ++i)
      apart = std::max(apart, std::fabs(double{all[i]} - double{all[i - 100]}));
  }
  CHECK(apart > 0);
  CHECK(apart < 1e-5);
}

TEST_CASE("the released 0/1 Adam with one worker: 1-bit rounds send nothing and keep the momentum") {
  TrainingOptions options = zero_one_adam(1);
  options.config.semantics = Semantics::deepspeed;
  Training training(options, oracle::normals(100, 1));
  std::vector<float> before;
  for (Index step = 1; step <= 41; ++step) {
    const StepReport report = training.step(GradientStream{1, 100}(step));
    const std::vector<float> momentum = training.optimizer->state().momentum->to_host();
    if (report.phase == Phase::compression) CHECK(momentum == before);
    CHECK(report.traffic.empty() == (report.phase == Phase::compression || report.phase == Phase::local));
    before = momentum;
  }
}
