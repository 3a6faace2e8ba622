// Logistic regression: gradients and losses compared with the oracle, its constants measured, its minimum reached.

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "device/base/error.hpp"
#include "sim/cluster/virtual_cluster.hpp"
#include "tests/catch.hpp"
#include "tests/devices.hpp"
#include "tests/oracle/logistic.hpp"
#include "tests/oracle/random.hpp"
#include "tests/sim/small_runs.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

constexpr Index kFeatures = 6;

std::unique_ptr<DataSource> two_classes(Index examples = 300) {
  return make_data({.name = "synthetic", .features = kFeatures, .classes = 2, .examples = examples});
}

ModelConfig logistic(const std::string& regulariser, bool bias = false) {
  return {.name = "logistic", .layers = {}, .regulariser = regulariser, .lambda = 0.3, .bias = bias};
}

/// The oracle's view of the rows of a batch from `first` on.
oracle::Logistic examples_of(const Batch& batch, Index first, Index count, const ModelConfig& config) {
  oracle::Logistic result{{}, {}, config.regulariser, config.lambda};
  const Index features = static_cast<Index>(batch.features.size()) / batch.rows();
  for (Index row = first; row < first + count; ++row) {
    const auto x = batch.features.begin() + row * features;
    result.x.emplace_back(x, x + features);
    if (config.bias) result.x.back().push_back(1);
    result.labels.push_back(batch.labels[static_cast<std::size_t>(row)]);
  }
  return result;
}

oracle::Vector part(const std::vector<float>& values, Index first, Index size) {
  return {values.begin() + first, values.begin() + first + size};
}

void check_gradients(const std::string& backend, const ModelConfig& config, Index batch_size, bool own_weights) {
  constexpr Index workers = 3;
  const auto data = two_classes();
  const device::Device device = device_of(backend);
  const auto model = make_model(device, config, *data);
  const Index size = model->parameters();
  REQUIRE(size == kFeatures + (config.bias ? 1 : 0));
  Batch batch;
  data->sample(2, {4, workers}, batch_size, batch);
  const std::vector<float> weights = oracle::normals(workers * size, 3);
  const device::Buffer<float> x = on(device, weights);
  device::Buffer<float> rows = on(device, std::vector<float>(static_cast<std::size_t>(workers * size), 2.0f));
  std::vector<double> losses(workers);
  const Index stride = own_weights ? size : 0;
  losses = model->gradients({x.data(), stride}, batch, {rows.data(), size}).losses();
  const std::vector<float> whole = rows.to_host();
  losses = model->gradients({x.data(), stride}, batch, {rows.data(), size, true, 0.5f}).losses();
  const std::vector<float> more = rows.to_host();
  for (Index worker = 0; worker < workers; ++worker) {
    CAPTURE(backend, config.regulariser, config.bias, batch_size, own_weights, worker);
    const oracle::Vector w = part(weights, worker * stride, size);
    const oracle::Logistic reference = examples_of(batch, worker * batch_size, batch_size, config);
    oracle::Vector expected = reference.gradient(w);
    CHECK(oracle::distance(part(whole, worker * size, size), expected) < 1e-5 * oracle::norm(expected));
    CHECK(losses[static_cast<std::size_t>(worker)] == Approx(reference.loss(w)).epsilon(1e-5));
    for (double& each : expected) each *= 1.5;
    CHECK(oracle::distance(part(more, worker * size, size), expected) < 1e-5 * oracle::norm(expected));
  }
}

/// Returns all examples of the training split.
oracle::Logistic training_split(const DataSource& data, const ModelConfig& config) {
  Batch batch;
  data.read(DataSource::Split::train, 0, data.train_size(), batch);
  return examples_of(batch, 0, data.train_size(), config);
}

/// shift + the size of the largest eigenvalue of the Hessian at w minus shift, by power iteration on differences of
/// gradients.
double curvature(const oracle::Logistic& problem, const oracle::Vector& w, double shift = 0) {
  oracle::Vector v(w.size(), 1.0);
  v[0] = 2;
  double eigenvalue = 0;
  for (int round = 0; round < 100; ++round) {
    const double length = oracle::norm(v);
    oracle::Vector above = w, below = w;
    for (std::size_t i = 0; i < v.size(); ++i) {
      above[i] += 1e-3 * v[i] / length;
      below[i] -= 1e-3 * v[i] / length;
    }
    const oracle::Vector a = problem.gradient(above), b = problem.gradient(below);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = (a[i] - b[i]) / 2e-3 - shift * v[i] / length;
    eigenvalue = oracle::norm(v);
  }
  return shift + eigenvalue;
}

RunConfig logistic_run() {
  RunConfig config = mlp_config();
  config.model = {.name = "logistic", .layers = {}, .lambda = 1e-2};
  config.data = {.name = "synthetic", .holdout = 0, .features = kFeatures, .classes = 2, .examples = 400};
  config.eval.split = DataSource::Split::train;
  return config;
}

}  // namespace

TEST_CASE("logistic: gradients and losses are those of the oracle") {
  for (const std::string& backend : backends()) {
    for (const std::string regulariser : {"none", "l2", "nonconvex"}) {
      for (const Index batch : {1, 5, 16}) {
        check_gradients(backend, logistic(regulariser), batch, false);
        check_gradients(backend, logistic(regulariser, true), batch, true);
      }
    }
  }
}

TEST_CASE("logistic: an evaluation of either split counts its examples, hits and the penalty") {
  const auto data = two_classes();
  for (const std::string& backend : backends()) {
    const device::Device device = device_of(backend);
    const ModelConfig config = logistic("nonconvex", true);
    const auto model = make_model(device, config, *data);
    const std::vector<float> weights = oracle::normals(kFeatures + 1, 4);
    const device::Buffer<float> x = on(device, weights);
    for (const auto split : {DataSource::Split::train, DataSource::Split::holdout}) {
      Batch batch;
      data->read(split, 3, 20, batch);
      const Evaluation result = model->evaluate({x.data(), 0}, batch);
      const oracle::Logistic reference = examples_of(batch, 0, 20, config);
      const oracle::Vector w(weights.begin(), weights.end());
      Index hits = 0;
      for (std::size_t row = 0; row < 20; ++row) hits += reference.margin(w, row) > 0 ? 1 : 0;
      CHECK(result.examples == 20);
      CHECK(result.correct == hits);
      CHECK(result.mean_loss() == Approx(reference.loss(w)).epsilon(1e-5));
    }
  }
}

TEST_CASE("logistic: L is the curvature at zero, and no curvature is beyond L and mu") {
  const auto data = two_classes();
  for (const bool bias : {false, true}) {
    for (const std::string regulariser : {"none", "l2", "nonconvex"}) {
      CAPTURE(regulariser, bias);
      const ModelConfig config = logistic(regulariser, bias);
      const auto model = make_model(device::Device::cpu(1), config, *data);
      const auto constants = model->constants(*data);
      REQUIRE(constants);
      const oracle::Logistic problem = training_split(*data, config);
      const oracle::Vector zero(static_cast<std::size_t>(model->parameters()), 0.0);
      const oracle::Vector far(zero.size(), 0.7);
      const double of_penalty = regulariser == "none" ? 0.0 : regulariser == "l2" ? 0.3 : 0.6;
      CHECK(constants->smoothness == Approx(curvature(problem, zero, of_penalty)).epsilon(1e-4));
      CHECK(curvature(problem, far) < constants->smoothness);
      CHECK(constants->convexity == (regulariser == "none" ? 0.0 : regulariser == "l2" ? 0.3 : -0.15));
      CHECK(std::isnan(constants->optimum_loss));
    }
  }
}

TEST_CASE("logistic: Adam and 1-bit Adam reach the Newton optimum") {
  RunConfig config = logistic_run();
  for (const std::string optimizer : {"adam", "onebit-adam"}) {
    config.optimizer.name = optimizer;
    config.optimizer.lr = 0.05;
    config.optimizer.freeze.policy = "fixed:60";
    config.schedule.name = "cosine";
    config.steps = 300;
    VirtualCluster cluster(config);
    const oracle::Logistic problem = training_split(cluster.data(), config.model);
    const double best = problem.loss(problem.minimum());
    REQUIRE(oracle::norm(problem.gradient(problem.minimum())) < 1e-8);
    const double start = cluster.evaluate().mean_loss();
    CHECK(start == Approx(std::log(2.0)));
    while (cluster.step() < cluster.steps()) cluster.advance();
    const Evaluation end = cluster.evaluate();
    CAPTURE(optimizer, best, start);
    CHECK(end.examples == 400);
    CHECK(end.mean_loss() - best > -1e-6);
    CHECK(end.mean_loss() - best < 1e-3);
    CHECK(start - best > 0.05);
  }
}

TEST_CASE("long: on a9a Adam and 1-bit Adam reach the Newton optimum", "[.long]") {
  const std::string path = shared_path("data/libsvm/a9a");
  ONEBIT_SKIP_UNLESS(std::filesystem::exists(path), "shared", "no a9a");
  RunConfig config;
  config.model = {.name = "logistic", .layers = {}, .lambda = 1e-4};
  config.data = {.name = "libsvm", .paths = {path}, .holdout = 0};
  config.eval = {.examples = 100000, .split = DataSource::Split::train};
  config.schedule.name = "cosine";
  config.optimizer.lr = 1e-2;
  config.optimizer.freeze.policy = "fraction:0.15";
  config.steps = 2000;
  double best = 0;
  for (const std::string optimizer : {"adam", "onebit-adam"}) {
    config.optimizer.name = optimizer;
    VirtualCluster cluster(config);
    if (best == 0) {
      const oracle::Logistic problem = training_split(cluster.data(), config.model);
      best = problem.loss(problem.minimum());
      CHECK(best == Approx(0.3245069247));  // NumPy's result
      CHECK(cluster.model().constants(cluster.data())->smoothness == Approx(1.5720196992));
    }
    while (cluster.step() < cluster.steps()) cluster.advance();
    CAPTURE(optimizer, best);
    const double reached = cluster.evaluate().mean_loss();
    CHECK(reached - best > -1e-6);
    CHECK(reached - best < 1e-3);
  }
}

TEST_CASE("logistic: the same bits for any threads, devices and grouping") {
  RunConfig config = logistic_run();
  config.model.regulariser = "nonconvex";
  config.model.bias = true;
  config.optimizer.name = "onebit-adam";
  config.optimizer.freeze.policy = "fixed:4";
  config.workers = 14;
  const auto trained = [&](const std::string& devices, Index group) {
    RunConfig other = config;
    other.device = devices;
    other.worker_group = group;
    other.threads = 2;
    VirtualCluster cluster(other);
    std::vector<double> numbers;
    while (cluster.step() < cluster.steps()) {
      const StepOutcome outcome = cluster.advance();
      numbers.insert(numbers.end(), outcome.worker_losses.begin(), outcome.worker_losses.end());
    }
    numbers.push_back(cluster.evaluate().loss);
    for (const float x : cluster.weights().to_host()) numbers.push_back(static_cast<double>(x));
    return numbers;
  };
  const std::vector<double> expected = trained("cpu:1", 0);
  REQUIRE(std::isfinite(expected[14 * 9]));
  for (const std::string devices : {"cpu", "cpu:2", "debug", "debug:2"}) {
    for (const Index group : {1, 3, 4, 0}) {
      CAPTURE(devices, group);
      CHECK(trained(devices, group) == expected);
    }
  }
}

TEST_CASE("logistic: what cannot be built is an error that names the option") {
  const auto data = two_classes();
  const auto make = [&](const ModelConfig& config, const DataSource& source) {
    return make_model(device::Device::cpu(1), config, source)->parameters();
  };
  ModelConfig config = logistic("l1");
  CHECK_THROWS_WITH(make(config, *data), Contains("model.regulariser l1"));
  config = logistic("l2");
  config.lambda = -1;
  CHECK_THROWS_WITH(make(config, *data), Contains("model.lambda -1"));
  const auto many = make_data({.name = "synthetic", .features = 3, .classes = 4, .examples = 50});
  CHECK_THROWS_WITH(make(logistic("l2"), *many), Contains("4 classes") && Contains("--model softmax"));
}
