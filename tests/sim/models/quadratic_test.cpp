// The quadratic: gradients compared with the oracle, and every constant that it declares, measured.

#include "sim/models/quadratic.hpp"

#include <cmath>

#include "device/base/error.hpp"
#include "sim/run/train.hpp"
#include "tests/catch.hpp"
#include "tests/devices.hpp"
#include "tests/oracle/quadratic.hpp"
#include "tests/oracle/random.hpp"
#include "tests/sim/log/log_fixture.hpp"
#include "tests/sim/small_runs.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

constexpr std::uint32_t kSeed = 5;

ModelConfig quadratic(Index dimension, Index workers) {
  return {.name = "quadratic", .layers = {}, .dimension = dimension, .noise = 0, .workers = workers};
}

Batch batch_of(Index step, Range workers, Index batch, Index first_draw = 0) {
  Batch result;
  make_data({.name = "none", .seed = kSeed})->sample(step, workers, batch, result, first_draw);
  return result;
}

/// Gradient rows of a model, and losses.
struct Rows {
  std::vector<float> values;
  std::vector<double> losses;
  oracle::Vector row(Index worker, Index size) const {
    const auto first = values.begin() + worker * size;
    return {first, first + size};
  }
};

Rows gradients(const std::string& backend, const ModelConfig& config, const std::vector<float>& weights, Index stride,
               const Batch& batch) {
  const device::Device device = device_of(backend);
  Quadratic problem(device, config);
  Model& model = problem;
  const device::Buffer<float> x = on(device, weights);
  device::Buffer<float> rows(device, batch.workers * model.parameters());
  Rows result{{}, std::vector<double>(static_cast<std::size_t>(batch.workers))};
  result.losses = model.gradients({x.data(), stride}, batch, {rows.data(), model.parameters()}).losses();
  result.values = rows.to_host();
  return result;
}

oracle::Vector logarithmic(Index size, double condition) {
  oracle::Vector values;
  for (Index i = 0; i < size; ++i) {
    values.push_back(std::pow(condition, -static_cast<double>(i) / static_cast<double>(size - 1)));
  }
  return values;
}

void check_against_oracle(const std::string& backend, bool rotate, bool own_weights) {
  constexpr Index size = 9, workers = 7, step = 4;
  ModelConfig config = quadratic(size, workers);
  config.rotate = rotate;
  config.noise = 3;
  config.heterogeneity = 2;
  const oracle::Quadratic reference{logarithmic(size, 100), rotate, 3, 2, workers};
  const Range group{2, 5};
  const std::vector<float> weights = oracle::normals(group.count * size, 8);
  const Rows rows = gradients(backend, config, weights, own_weights ? size : 0, batch_of(step, group, 3, 6));
  for (Index g = 0; g < group.count; ++g) {
    const auto first = weights.begin() + (own_weights ? g * size : 0);
    const oracle::Vector x(first, first + size);
    oracle::Vector linear = reference.tilt(group.first + g);
    const oracle::Vector noise = reference.mean_noise(kSeed, step, group.first + g, 6, 3);
    for (std::size_t i = 0; i < linear.size(); ++i) linear[i] += noise[i];
    const oracle::Vector expected = reference.gradient(x, linear);
    CAPTURE(backend, rotate, own_weights, g);
    CHECK(oracle::distance(rows.row(g, size), expected) < 1e-6 * oracle::norm(expected));
    CHECK(rows.losses[static_cast<std::size_t>(g)] == Approx(reference.value(x, linear)).epsilon(1e-6));
  }
}

RunConfig quadratic_run(Index dimension) {
  RunConfig config = mlp_config();
  config.model = quadratic(dimension, 1);
  config.data = {.name = "none"};
  return config;
}

}  // namespace

TEST_CASE("quadratic: gradients and losses are those of the oracle") {
  for (const std::string& backend : backends()) {
    for (const bool rotate : {false, true}) {
      check_against_oracle(backend, rotate, false);
      check_against_oracle(backend, rotate, true);
    }
  }
}

TEST_CASE("quadratic: gradients are scaled and added as asked") {
  for (const std::string& backend : backends()) {
    const device::Device device = device_of(backend);
    Quadratic problem(device, quadratic(5000, 2));
    Model& model = problem;
    const device::Buffer<float> x = on(device, model.initial_weights(1));
    device::Buffer<float> once(device, 2 * 5000), twice(device, 2 * 5000);
    std::vector<double> losses(2), again(2);
    losses = model.gradients({x.data(), 0}, batch_of(1, {0, 2}, 1), {once.data(), 5000}).losses();
    again = model.gradients({x.data(), 0}, batch_of(1, {0, 2}, 1), {twice.data(), 5000, false, 0.25f}).losses();
    again = model.gradients({x.data(), 0}, batch_of(1, {0, 2}, 1), {twice.data(), 5000, true, 0.75f}).losses();
    CHECK(again == losses);
    CHECK(oracle::distance(once.to_host(), twice.to_host()) < 1e-6 * oracle::norm(once.to_host()));
    CHECK(oracle::norm(once.to_host()) > 1);
  }
}

TEST_CASE("quadratic: an evaluation is the mean function, without noise") {
  for (const std::string& backend : backends()) {
    const device::Device device = device_of(backend);
    ModelConfig config = quadratic(11, 3);
    config.noise = config.heterogeneity = 10;
    config.rotate = true;
    Quadratic model(device, config);
    const std::vector<float> weights = model.initial_weights(3);
    const device::Buffer<float> x = on(device, weights);
    const oracle::Quadratic reference{logarithmic(11, 100), true};
    Batch held;
    make_data({.name = "none"})->holdout(0, 1, held);
    const Evaluation result = model.evaluate({x.data(), 0}, held);
    CHECK(result.examples == 1);
    CHECK(result.loss == Approx(reference.value({weights.begin(), weights.end()}, oracle::Vector(11, 0.0))));
  }
}

TEST_CASE("quadratic: the spectrum is the one asked for") {
  const auto eigenvalues = [](const std::string& spectrum) {
    constexpr Index size = 5;
    ModelConfig config = quadratic(size, 1);
    config.spectrum = spectrum;
    config.condition = 16;
    oracle::Vector x = oracle::Quadratic{oracle::Vector(size, 1.0)}.optimum(), diagonal;
    for (Index i = 0; i < size; ++i) {
      std::vector<float> away(x.begin(), x.end());
      away[static_cast<std::size_t>(i)] += 1.0f;
      const float moved = away[static_cast<std::size_t>(i)] - static_cast<float>(x[static_cast<std::size_t>(i)]);
      const Rows rows = gradients("cpu", config, away, 0, batch_of(1, {0, 1}, 1));
      diagonal.push_back(rows.row(0, size)[static_cast<std::size_t>(i)] / static_cast<double>(moved));
    }
    return diagonal;
  };
  CHECK(oracle::distance(eigenvalues("flat"), oracle::Vector{1, 1, 1, 1, 1}) < 1e-6);
  CHECK(oracle::distance(eigenvalues("log"), oracle::Vector{1, 0.5, 0.25, 0.125, 0.0625}) < 1e-6);
  CHECK(oracle::distance(eigenvalues("linear"), oracle::Vector{1, 49.0 / 64, 34.0 / 64, 19.0 / 64, 4.0 / 64}) < 1e-6);
  CHECK(oracle::distance(eigenvalues("power:2"), oracle::Vector{1, 16.0 / 49, 4.0 / 25, 16.0 / 169, 1.0 / 16}) < 1e-6);
}

TEST_CASE("quadratic: the noise has mean zero and the norm that was asked for") {
  constexpr Index size = 200, workers = 50;
  const std::vector<float> x = oracle::normals(size, 2);
  const Rows clean = gradients("cpu", quadratic(size, workers), x, 0, batch_of(1, {0, workers}, 1));
  ModelConfig config = quadratic(size, workers);
  config.noise = 6;
  for (const Index batch : {1, 4}) {
    double squares = 0;
    oracle::Vector mean(size, 0.0);
    for (const Index step : {1, 2}) {
      const Rows noisy = gradients("cpu", config, x, 0, batch_of(step, {0, workers}, batch));
      for (std::size_t i = 0; i < noisy.values.size(); ++i) {
        const double noise = static_cast<double>(noisy.values[i]) - static_cast<double>(clean.values[i]);
        squares += noise * noise / (2 * workers);
        mean[i % size] += noise / (2 * workers);
      }
    }
    CAPTURE(batch);
    // 20,000 normals: the mean square is known to 1%; the mean of 100 vectors has a tenth of the norm.
    CHECK(squares == Approx(36.0 / static_cast<double>(batch)).epsilon(0.04));
    CHECK(oracle::norm(mean) == Approx(0.6 / std::sqrt(static_cast<double>(batch))).epsilon(0.2));
  }
}

TEST_CASE("quadratic: the workers' gradients at the optimum have mean zero and the norm that was asked for") {
  constexpr Index size = 300;
  const oracle::Vector optimum = oracle::Quadratic{oracle::Vector(size, 1.0)}.optimum();
  for (const Index workers : {2, 7, 16}) {
    ModelConfig config = quadratic(size, workers);
    config.heterogeneity = 2.5;
    const Rows rows = gradients("cpu", config, {optimum.begin(), optimum.end()}, 0, batch_of(1, {0, workers}, 1));
    oracle::Vector mean(size, 0.0);
    double squares = 0;
    for (Index worker = 0; worker < workers; ++worker) {
      const oracle::Vector row = rows.row(worker, size);
      for (std::size_t i = 0; i < row.size(); ++i) mean[i] += row[i];
      squares += std::pow(oracle::norm(row), 2) / static_cast<double>(workers);
    }
    CAPTURE(workers);
    CHECK(std::sqrt(squares) == Approx(2.5).epsilon(1e-6));
    CHECK(oracle::norm(mean) < 1e-6);
    CHECK(rows.row(0, size) != rows.row(1, size));
  }
}

TEST_CASE("quadratic: descent with step 1 / L contracts by 1 - mu / L") {
  for (const bool rotate : {false, true}) {
    RunConfig config = quadratic_run(60);
    config.model.condition = 10;
    config.model.rotate = rotate;
    config.model.heterogeneity = 4;  // the mean gradient is free of it
    config.optimizer.name = "sgd";
    config.optimizer.lr = 1;
    config.steps = 25;
    VirtualCluster cluster(config);
    const auto constants = cluster.model().constants(cluster.data());
    REQUIRE(constants);
    CHECK(*constants == Constants{1, 0.1, 0, 4, 0});
    double before = cluster.evaluate().loss, ratio = 0;
    while (cluster.step() < cluster.steps()) {
      cluster.advance();
      const double after = cluster.evaluate().loss;
      ratio = after / before;
      CHECK(ratio <= 0.9);
      before = after;
    }
    CAPTURE(rotate);
    CHECK(ratio == Approx(0.81).epsilon(0.03));  // (1 - mu / L)^2, once the slowest direction alone is left
  }
}

TEST_CASE("quadratic: the same bits for any threads, devices and grouping", "[once]") {
  RunConfig config = quadratic_run(5000);
  config.model.noise = 2;
  config.model.heterogeneity = 1;
  config.model.blocks = 3;
  config.optimizer.name = "onebit-adam";
  config.optimizer.freeze.policy = "fixed:4";
  config.workers = 14;
  config.batch = 2;
  config.accumulation = 2;
  const auto trained = [&](const std::string& devices, int threads, Index group) {
    RunConfig other = config;
    other.device = devices;
    other.threads = threads;
    other.worker_group = group;
    VirtualCluster cluster(other);
    std::vector<double> numbers;
    while (cluster.step() < cluster.steps()) {
      const StepOutcome outcome = cluster.advance();
      numbers.insert(numbers.end(), outcome.worker_losses.begin(), outcome.worker_losses.end());
    }
    for (const float x : cluster.weights().to_host()) numbers.push_back(static_cast<double>(x));
    numbers.push_back(cluster.evaluate().loss);
    return numbers;
  };
  const std::vector<double> expected = trained("cpu", 1, 0);
  REQUIRE(expected.size() == 14 * 9 + 5001);
  REQUIRE(std::isfinite(expected.back()));
  for (const std::string devices : {"cpu", "cpu:2", "debug", "debug:2"}) {
    for (const Index group : {1, 3, 4, 0}) {
      CAPTURE(devices, group);
      CHECK(trained(devices, 2, group) == expected);
    }
  }
}

TEST_CASE("quadratic: tensors are blocks of equal size, to an element") {
  ModelConfig config = quadratic(11, 1);
  config.blocks = 3;
  const Quadratic model(device::Device::cpu(1), config);
  CHECK(model.tensors() == std::vector<compress::Tensor>{{"block1", 4}, {"block2", 4}, {"block3", 3}});
  CHECK(model.initial_weights(1) != model.initial_weights(2));
}

TEST_CASE("quadratic: a run logs its constants, and no accuracy") {
  const Folder folder;
  VirtualCluster cluster(quadratic_run(20));
  train(cluster, quadratic_run(20), folder / "run.h5", Existing::refuse, {}, {});
  const LogReader log(folder / "run.h5");
  REQUIRE(log.header().constants);
  CHECK(*log.header().constants == Constants{1, 0.01, 0, 0, 0});
  REQUIRE(log.evaluations().size() > 1);
  CHECK(std::isnan(log.evaluations().back().accuracy));
  CHECK(log.evaluations().back().loss < log.evaluations().front().loss);
}

TEST_CASE("quadratic: what cannot be built is an error that names the option") {
  const auto make = [](const ModelConfig& config) { return Quadratic(device::Device::cpu(1), config).parameters(); };
  const auto with = [](auto change) {
    ModelConfig config = quadratic(10, 1);
    change(config);
    return config;
  };
  CHECK(make(quadratic(1, 1)) == 1);
  CHECK_THROWS_WITH(make(quadratic(0, 1)), Contains("model.dimension 0"));
  CHECK_THROWS_WITH(make(with([](auto& c) { c.blocks = 11; })), Contains("model.blocks 11"));
  CHECK_THROWS_WITH(make(with([](auto& c) { c.blocks = 0; })), Contains("model.blocks 0"));
  CHECK_THROWS_WITH(make(with([](auto& c) { c.condition = 0.5; })), Contains("model.condition 0.5"));
  CHECK_THROWS_WITH(make(with([](auto& c) { c.noise = -1; })), Contains("model.noise -1"));
  CHECK_THROWS_WITH(make(with([](auto& c) { c.heterogeneity = std::nan(""); })), Contains("model.heterogeneity"));
  CHECK_THROWS_WITH(make(with([](auto& c) { c.heterogeneity = 1; })), Contains("workers 1"));
  for (const std::string spectrum : {"", "exp", "power", "power:", "power:0", "power:x", "power:2x", "power:-1"}) {
    CHECK_THROWS_WITH(make(with([&](auto& c) { c.spectrum = spectrum; })), Contains("model.spectrum " + spectrum));
  }
}

TEST_CASE("data: the source none has no examples, and only models that need no data take it") {
  const auto none = make_data({.name = "none"});
  CHECK(none->train_size() == 1);
  CHECK(none->holdout_size() == 1);
  CHECK_THROWS_WITH(make_data({.name = "none", .paths = {"x"}}), Contains("--data.path"));
  const device::Device device = device::Device::cpu(1);
  CHECK_THROWS_WITH(make_model(device, {.name = "mlp", .layers = {}}, *none), Contains("this model reads examples"));
  const auto dense = make_data({.name = "synthetic", .features = 3, .classes = 2, .examples = 20});
  CHECK_THROWS_WITH(make_model(device, quadratic(5, 1), *dense), Contains("--data none"));
  RunConfig config = quadratic_run(5);
  config.steps = 0;
  config.epochs = 2;
  CHECK_THROWS_WITH(VirtualCluster(config), Contains("epochs, data none"));
}
