// 0/1 Adam's variance schedule without compression.
#include "optim/parent.hpp"
#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/adam.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

// As in zero_one_adam_test.cpp: the rounds of 0/1 Adam with this configuration; after 20 steps the variance is frozen.
const std::string kRounds = "FFF1F1F111F111F11111";
constexpr Index kParameters = 60;

TrainingOptions schedule_alone() {
  TrainingOptions options;
  options.config.name = "zeroone-adam-32";
  options.config.lr = 0.01;
  options.config.beta2 = 0.9;
  options.config.zeroone = {
      .var_freeze_step = 20, .var_update_scaler = 2, .local_step_scaler = 4, .local_step_clipper = 4};
  options.tensors = {40, 20};
  options.workers = 3;
  return options;
}

}  // namespace

TEST_CASE("0/1 Adam in 32 bits: Adam whose variance moves in full rounds alone") {
  TrainingOptions options = schedule_alone();
  options.config.weight_decay = 0.1;
  const OptimizerConfig& c = options.config;
  const std::vector<float> x0 = oracle::normals(kParameters, 6);
  Training training(options, x0);
  std::vector<double> x(x0.begin(), x0.end()), m(kParameters, 0.0), v(kParameters, 0.0);
  const GradientStream early{3, kParameters, 6, {7}}, late{3, kParameters, 6};
  int full = 0;
  for (Index step = 1; step <= 40; ++step) {
    const FloatRows rows = (step <= 30 ? early : late)(step);
    const StepReport report = training.step(rows);
    const bool is_full = step <= 20 && kRounds[static_cast<std::size_t>(step - 1)] == 'F';
    if (is_full) ++full;
    const oracle::Vector g = oracle::mean(wide(rows));
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (is_full) v[i] = c.beta2 * v[i] + (1 - c.beta2) * g[i] * g[i];
      m[i] = v[i] == 0 ? 0 : c.beta1 * m[i] + (1 - c.beta1) * g[i];
      const double root = std::sqrt(v[i] / (1 - std::pow(c.beta2, full)));
      x[i] -=
          c.lr * (m[i] / (1 - std::pow(c.beta1, static_cast<double>(step))) / (root + c.eps) + c.weight_decay * x[i]);
    }
    CAPTURE(step);
    REQUIRE(oracle::distance(training.parameters(), x) < 1e-5 * oracle::distance(x, x0));
    CHECK(report.phase == (is_full ? Phase::warmup : Phase::compression));
    REQUIRE(report.traffic.size() == 1);
    CHECK(report.traffic.front().payload_bytes == 4 * kParameters);
    CHECK(report.masked == (step >= 20 ? 1 : 0));
    CHECK(report.events.size() == (step == 20 || step == 31 ? 1u : 0u));
    if (step == 20) CHECK(contains(report.events.front().text, "7 updates in 20 steps, 1 coordinates masked"));
    if (step == 31) CHECK(report.events.front().kind == "masked");
  }
}

TEST_CASE("what a freeze is compared with, and how an optimizer is told when to freeze") {
  CHECK(is_dense_until_freeze("onebit-adam"));
  CHECK(is_dense_until_freeze("onebit-lamb-32"));
  CHECK_FALSE(is_dense_until_freeze("zeroone-adam"));
  CHECK_FALSE(is_dense_until_freeze("adam"));  // its lag alone
  OptimizerConfig config;
  config.name = "zeroone-adam";
  CHECK(never_frozen(config).name == "adam");
  CHECK(frozen_after(config, 7).zeroone.var_freeze_step == 7);
  config.name = "onebit-lamb";
  CHECK(never_frozen(config).name == "onebit-lamb");
  CHECK(never_frozen(config).freeze.policy == "never");
  CHECK(frozen_after(config, 7).freeze.policy == "fixed:7");
}
