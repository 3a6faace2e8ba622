// 1-bit LAMB in paper semantics.
#include "optim/two_stage/onebit_lamb.hpp"

#include "tests/catch.hpp"
#include "tests/optim/training.hpp"
#include "tests/oracle/lamb.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

constexpr int kDense = 15;
const std::vector<Index> kTensors = {200, 0, 3, 97};

TrainingOptions onebit_lamb(Index workers) {
  TrainingOptions options;
  options.config.name = "onebit-lamb";
  options.config.lr = 0.01;
  options.config.freeze.policy = "fixed:" + std::to_string(kDense);
  options.tensors = kTensors;
  options.workers = workers;
  return options;
}

oracle::OnebitLamb oracle_of(const TrainingOptions& options, const std::vector<float>& x0) {
  const OptimizerConfig& c = options.config;
  return {{.adam = {c.beta1, c.beta2, c.eps, c.weight_decay, c.clip, c.bias_correction},
           .min_coeff = c.lamb.min_coeff,
           .max_coeff = c.lamb.max_coeff,
           .coeff_beta = c.lamb.coeff_beta,
           .factor_min = c.lamb.factor_min,
           .factor_max = c.lamb.factor_max,
           .factor_threshold = c.lamb.factor_threshold,
           .tensors = {options.tensors.begin(), options.tensors.end()},
           .undecayed = c.no_decay.empty() ? std::vector<std::size_t>{} : std::vector<std::size_t>{2}},
          {.dense_updates = kDense,
           .identity = c.exchange.up.name == "fp32" || c.name == "onebit-lamb-32",
           .floor_of_mean = c.variance_floor == "0" ? 0 : std::stod(c.variance_floor.substr(5)),
           .refresh = static_cast<int>(c.variance_refresh)},
          {x0.begin(), x0.end()}};
}

double difference(const TrainingOptions& options, std::uint32_t seed, const std::vector<Index>& silent = {}) {
  const std::vector<float> x0 = oracle::normals(300, seed);
  Training training(options, x0);
  oracle::OnebitLamb oracle = oracle_of(options, x0);
  return worst_displacement(training, oracle, {options.workers, 300, seed, silent}, 60);
}

}  // namespace

TEST_CASE("1-bit LAMB follows the oracle for many numbers of workers") {
  for (const Index workers : {1, 2, 3, 8, 12}) {
    CAPTURE(workers);
    CHECK(difference(onebit_lamb(workers), 1) < 1e-4);
  }
}

TEST_CASE("1-bit LAMB follows the oracle with every option changed") {
  TrainingOptions options = onebit_lamb(4);
  std::vector<Index> silent;
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
  SECTION("local clipping") {
    options.config.clip = 14;
  }
  SECTION("betas and eps") {
    options.config.beta1 = 0.8;
    options.config.beta2 = 0.9;
    options.config.eps = 1e-3;
  }
  SECTION("coefficients") {
    options.config.lamb = {.max_coeff = 1.2, .min_coeff = 0.9, .coeff_beta = 0.5};
  }
  SECTION("factors") {
    options.config.beta2 = 0.9;
    options.config.lamb.factor_max = 1.3;
    options.config.lamb.factor_min = 0.8;
    options.config.lamb.factor_threshold = 0.02;
  }
  SECTION("an explicit granularity does not count") {
    options.config.exchange.granularity = compress::Granularity::tensor;
  }
  SECTION("coordinates without gradients") {
    silent = {0, 50, 201, 299};
  }
  SECTION("a floor of the frozen variance, below which the fresh one falls") {
    options.config.variance_floor = "mean:0.5";
    options.config.beta2 = 0.9;
    silent = {0, 299};
  }
  SECTION("refreshes") {
    options.config.variance_refresh = 7;
    options.config.beta2 = 0.9;
    options.config.weight_decay = 0.1;
  }
  SECTION("refreshes with a floor, without bias correction") {
    options.config.variance_refresh = 7;
    options.config.variance_floor = "mean:0.3";
    options.config.bias_correction = false;
  }
  SECTION("a tensor without gradients") {
    silent = {200, 201, 202};
  }
  CHECK(difference(options, 2, silent) < 1e-4);
}

TEST_CASE("1-bit LAMB with the identity for a codec follows the oracle without an exchange") {
  TrainingOptions options = onebit_lamb(4);
  options.config.exchange.up.name = "fp32";
  options.config.weight_decay = 0.1;
  options.config.clip = 14;
  CHECK(difference(options, 5, {0, 299}) < 1e-5);
}

TEST_CASE("1-bit LAMB in 32 bits follows the oracle without an exchange, and sends dense vectors") {
  for (const Index workers : {1, 3, 8}) {
    TrainingOptions options = onebit_lamb(workers);
    options.config.name = "onebit-lamb-32";
    options.config.weight_decay = 0.1;
    options.config.clip = 14;
    CAPTURE(workers);
    CHECK(difference(options, 5, {0, 299}) < 1e-5);
  }
  TrainingOptions options = onebit_lamb(4);
  options.config.name = "onebit-lamb-32";
  Training training(options, oracle::normals(300, 1));
  StepReport report;
  for (Index step = 1; step <= kDense + 1; ++step) report = training.step(GradientStream{4, 300, 1}(step));
  CHECK(report.phase == Phase::compression);
  REQUIRE(report.traffic.size() == 1);
  CHECK(report.traffic.front().payload_bytes == 4 * 300);
}

TEST_CASE("1-bit LAMB that is never frozen is LAMB, bit for bit") {
  TrainingOptions options = onebit_lamb(5);
  options.config.freeze.policy = "never";
  options.config.weight_decay = 0.01;
  Training onebit(options, oracle::normals(300, 3));
  options.config.name = "lamb";
  Training lamb(options, oracle::normals(300, 3));
  for (Index step = 1; step <= 30; ++step) {
    const FloatRows rows = GradientStream{5, 300, 3}(step);
    CHECK(onebit.step(rows).traffic == lamb.step(rows).traffic);
    REQUIRE(onebit.parameters() == lamb.parameters());
  }
}

TEST_CASE("1-bit LAMB's numbers per tensor are the oracle's") {
  TrainingOptions options = onebit_lamb(4);
  options.config.weight_decay = 0.1;
  options.config.beta2 = 0.97;
  const std::vector<float> x0 = oracle::normals(300, 4);
  Training training(options, x0);
  oracle::OnebitLamb oracle = oracle_of(options, x0);
  for (Index step = 1; step <= 40; ++step) {
    const FloatRows rows = GradientStream{4, 300, 4}(step);
    training.step(rows);
    oracle.step(options.config.lr, wide(rows));
    const TensorNumbers& numbers = *training.optimizer->state().tensors;
    for (std::size_t l = 0; l < kTensors.size(); ++l) {
      CAPTURE(step, l);
      CHECK(numbers.trust_ratio[l] == Approx(oracle.ratios[l]).epsilon(1e-4));
      CHECK(numbers.coefficient_factor[l] == Approx(oracle.factors[l]).epsilon(1e-4));
      CHECK(numbers.scaling_coefficient[l] == Approx(oracle.scaling[l]).epsilon(1e-4));
      CHECK(numbers.frozen_coefficient[l] == Approx(oracle.frozen(l)).epsilon(1e-4));
    }
  }
  CHECK(oracle.scaling[0] != 1);
  CHECK(oracle.factors[0] != 1);
}

TEST_CASE("1-bit LAMB sends one fused vector") {
  TrainingOptions options = onebit_lamb(4);
  options.config.freeze.policy = "fixed:1";
  Training training(options);
  CHECK(training.step(GradientStream{4, 300}(1)).traffic == compress::DenseMean::plan(4, 300));
  const StepReport report = training.step(GradientStream{4, 300}(2));
  REQUIRE(report.traffic.size() == 4);
  CHECK(report.traffic[0].payload_bytes == 320 / 8);
  CHECK(report.traffic[0].tensor == -1);
  CHECK(training.optimizer->state().exchange->error_stride() == 300);
}

TEST_CASE("the factor reaches its bounds in steps of its threshold") {
  TrainingOptions options = onebit_lamb(2);
  options.config.freeze.policy = "fixed:2";
  options.config.beta2 = 0.5;
  options.config.bias_correction = false;
  options.tensors = {4};
  const FloatRows strong(2, {1, -1, 1, -1}), weak(2, {0.01f, -0.01f, 0.01f, -0.01f});
  for (const bool falls : {false, true}) {  // weaker gradients leave less variance than was frozen: r rises
    Training training(options, {1, 2, 3, 4});
    double expected = 1;
    for (int step = 1; step <= 40; ++step) {
      training.step(step <= 2 ? (falls ? weak : strong) : (falls ? strong : weak));
      if (step > 2) expected = falls ? std::max(0.5, expected * 0.9) : std::min(4.0, expected * 1.1);
      CAPTURE(falls, step);
      CHECK(training.optimizer->state().tensors->coefficient_factor[0] == Approx(expected));
    }
    CHECK(expected == (falls ? 0.5 : 4));
  }
}

TEST_CASE("a tensor whose trust ratio always was 1 goes on learning after the freeze") {
  TrainingOptions options = onebit_lamb(2);
  options.config.freeze.policy = "fixed:3";
  options.config.lamb.min_coeff = options.config.lamb.max_coeff = 1;
  options.tensors = {4};
  Training training(options, {1, 2, 3, 4});
  for (int step = 1; step <= 5; ++step) {
    const std::vector<float> before = training.parameters();
    training.step(FloatRows(2, {1, -1, 1, -1}));
    CHECK(training.optimizer->state().tensors->frozen_coefficient[0] == Approx(1));
    for (std::size_t i = 0; i < 4; ++i) CHECK(training.parameters()[i] != before[i]);
  }
}

TEST_CASE("a tensor without momentum at the freeze has scaling coefficient 1 and stays") {
  TrainingOptions options = onebit_lamb(2);
  options.config.freeze.policy = "fixed:2";
  options.tensors = {3, 2, 1};
  Training training(options, std::vector<float>(6, 1.0f));
  for (int step = 1; step <= 6; ++step) {
    const StepReport report = training.step(FloatRows(2, {1, -2, 3, 0, 0, 0.5f}));
    CHECK(report.masked == (step >= 2 ? 2 : 0));
    CHECK(training.parameters()[3] == 1);
    CHECK(training.parameters()[4] == 1);
  }
  const TensorNumbers& numbers = *training.optimizer->state().tensors;
  CHECK(numbers.scaling_coefficient[1] == 1);
  CHECK(numbers.coefficient_factor[1] == Approx(1));
  const double s0 = std::sqrt(14.0 / 3), s2 = 0.5;  // of the momenta, up to a factor
  CHECK(numbers.scaling_coefficient[0] == Approx((s0 + s2) / 2 / s0));
  CHECK(numbers.scaling_coefficient[2] == Approx((s0 + s2) / 2 / s2));
}

TEST_CASE("without gradients 1-bit LAMB shrinks a tensor by lr times its coefficient times weight decay") {
  TrainingOptions options = onebit_lamb(2);
  options.config.freeze.policy = "fixed:3";
  options.config.lr = 0.125;
  options.config.weight_decay = 0.25;  // trust ratio 1 / 0.25
  options.tensors = {33};
  Training training(options, std::vector<float>(33, -4.0f));
  double expected = -4;
  for (int step = 1; step <= 8; ++step) {
    training.step(FloatRows(2, std::vector<float>(33)));
    expected *= 1 - 0.125 * 4 * 0.25;
    CAPTURE(step);
    for (const float value : training.parameters()) CHECK(static_cast<double>(value) == Approx(expected));
    CHECK(training.optimizer->state().tensors->trust_ratio[0] == Approx(4));
  }
}
