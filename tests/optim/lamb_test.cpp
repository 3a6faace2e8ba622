#include "optim/lamb/lamb.hpp"

#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/lamb.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

const std::vector<Index> kTensors = {200, 0, 3, 97};

TrainingOptions lamb(Index workers) {
  TrainingOptions options;
  options.config.name = "lamb";
  options.config.lr = 0.01;
  options.tensors = kTensors;
  options.workers = workers;
  return options;
}

double difference(const TrainingOptions& options, std::uint32_t seed) {
  const OptimizerConfig& c = options.config;
  const bool correct = c.bias_correction && c.semantics == Semantics::paper;
  const std::vector<float> x0 = oracle::normals(300, seed);
  Training training(options, x0);
  oracle::Lamb oracle({.adam = {c.beta1, c.beta2, c.eps, c.weight_decay, c.clip, correct},
                       .min_coeff = c.lamb.min_coeff,
                       .max_coeff = c.lamb.max_coeff,
                       .tensors = {kTensors.begin(), kTensors.end()},
                       .undecayed = c.no_decay.empty() ? std::vector<std::size_t>{} : std::vector<std::size_t>{2}},
                      {x0.begin(), x0.end()});
  return worst_displacement(training, oracle, {options.workers, 300, seed}, 60);
}

}  // namespace

TEST_CASE("LAMB follows the oracle") {
  for (const Index workers : {1, 4, 7}) CHECK(difference(lamb(workers), 1) < 1e-5);
}

TEST_CASE("LAMB follows the oracle with every option changed") {
  TrainingOptions options = lamb(4);
  SECTION("without bias correction") {
    options.config.bias_correction = false;
  }
  SECTION("weight decay") {
    options.config.weight_decay = 0.1;
  }
  SECTION("weight decay, but not for a tensor") {
    options.config.weight_decay = 0.5;
    options.config.no_decay = {"tensor2"};
  }
  SECTION("clipping") {
    options.config.clip = 2;
  }
  SECTION("bounds of the trust ratio that bind") {
    options.config.lamb.min_coeff = 0.9;
    options.config.lamb.max_coeff = 1.1;
  }
  SECTION("betas and eps") {
    options.config.beta1 = 0.5;
    options.config.beta2 = 0.9;
    options.config.eps = 0.1;
  }
  SECTION("deepspeed semantics have no bias correction") {
    options.config.semantics = Semantics::deepspeed;
  }
  CHECK(difference(options, 2) < 1e-5);
}

TEST_CASE("the first LAMB step by hand, with its trust ratios") {
  TrainingOptions options = lamb(2);
  options.tensors = {2, 2, 1, 0};
  options.config.lr = 0.5;
  Training training(options, {3, 4, 100, 0, 0});
  // Adam's first directions are signs, of norm sqrt(2); the second tensor's ratio is clamped, the third has no weights.
  const StepReport report = training.step({{1, -1, 2, -2, 5}, {1, -3, 2, -2, 5}});
  const TensorNumbers& numbers = *training.optimizer->state().tensors;
  REQUIRE(numbers.trust_ratio.size() == 4);
  CHECK(numbers.trust_ratio[0] == Approx(5 / std::sqrt(2.0)));
  CHECK(numbers.trust_ratio[1] == 10);
  CHECK(numbers.trust_ratio[2] == 1);
  CHECK(numbers.trust_ratio[3] == 1);
  CHECK(numbers.frozen_coefficient.empty());
  CHECK(static_cast<double>(training.parameters()[0]) == Approx(3 - 0.5 * 5 / std::sqrt(2.0)));
  CHECK(static_cast<double>(training.parameters()[3]) == Approx(5));
  CHECK(static_cast<double>(training.parameters()[4]) == Approx(-0.5));
  CHECK(report.phase == Phase::dense);
  CHECK(report.traffic == compress::DenseMean::plan(2, 5));
}

TEST_CASE("without gradients LAMB shrinks a tensor by lr times its trust ratio times weight decay") {
  TrainingOptions options = lamb(2);
  options.config.lr = 0.125;
  options.tensors = {33};
  for (const auto& [decay, ratio] : std::vector<std::pair<double, double>>{{0.25, 4}, {0.0625, 10}, {200, 0.01}}) {
    options.config.weight_decay = decay;
    Training training(options, std::vector<float>(33, -4.0f));
    double expected = -4;
    for (int step = 1; step <= 5; ++step) {
      training.step(FloatRows(2, std::vector<float>(33)));
      expected *= 1 - 0.125 * ratio * decay;
      for (const float value : training.parameters()) CHECK(static_cast<double>(value) == Approx(expected));
      CHECK(training.optimizer->state().tensors->trust_ratio[0] == Approx(ratio));
    }
  }
}

TEST_CASE("every LAMB option out of range is named") {
  struct Bad {
    std::string option;
    double LambConfig::*member;
    double value;
  };
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<Bad> bad = {{"max-coeff", &LambConfig::max_coeff, 0},
                                {"max-coeff", &LambConfig::max_coeff, 0.001},
                                {"max-coeff", &LambConfig::max_coeff, inf},
                                {"max-coeff", &LambConfig::max_coeff, nan},
                                {"min-coeff", &LambConfig::min_coeff, -0.1},
                                {"min-coeff", &LambConfig::min_coeff, nan},
                                {"coeff-beta", &LambConfig::coeff_beta, -0.1},
                                {"coeff-beta", &LambConfig::coeff_beta, 1},
                                {"coeff-beta", &LambConfig::coeff_beta, nan},
                                {"factor-max", &LambConfig::factor_max, 0.4},
                                {"factor-max", &LambConfig::factor_max, inf},
                                {"factor-min", &LambConfig::factor_min, -1},
                                {"factor-min", &LambConfig::factor_min, nan},
                                {"factor-threshold", &LambConfig::factor_threshold, 0},
                                {"factor-threshold", &LambConfig::factor_threshold, 1},
                                {"factor-threshold", &LambConfig::factor_threshold, nan}};
  for (const std::string name : {"lamb", "onebit-lamb", "adam"}) {
    for (const Bad& one : bad) {
      TrainingOptions options = lamb(1);
      options.config.name = name;
      options.config.lamb.*one.member = one.value;
      CAPTURE(name, one.option, one.value);
      CHECK(contains(refusal([&] { Training{options}; }), "(optimizer." + one.option + " "));
    }
  }
}
