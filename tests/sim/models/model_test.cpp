// Losses and gradients of the models compared with finite differences of the sequential oracle in double precision.

#include "sim/models/model.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "device/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/oracle/network.hpp"
#include "tests/sim/log/log_fixture.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

constexpr Index kWorkers = 5;

/// A model with its data, and an equal network of the oracle.
struct Problem {
  std::unique_ptr<DataSource> data;
  ModelConfig config;
  oracle::Network network;
  device::Device device = device::Device::cpu(2);

  std::unique_ptr<Model> model() const { return make_model(device, config, *data); }
  Batch sample(Index workers, Index batch) const {
    Batch result;
    data->sample(3, {0, workers}, batch, result);
    return result;
  }
};

std::unique_ptr<DataSource> dense_data() {
  return make_data({.name = "synthetic", .features = 5, .classes = 4, .examples = 300});
}

Problem softmax_problem() {
  return {dense_data(), {.name = "softmax", .layers = {}}, {.widths = {5, 4}}};
}

Problem mlp_problem(const std::string& activation) {
  return {dense_data(),
          {.name = "mlp", .layers = {5, 7, 6, 4}, .activation = activation},
          {.widths = {5, 7, 6, 4}, .gelu = activation == "gelu"}};
}

Problem ngram_problem(const std::string& activation) {
  const Folder folder;
  std::string text = "to be, or not to be: that is the question. whether 'tis nobler in the mind to suffer ";
  text += "the slings and arrows of outrageous fortune, or to take arms against a sea of troubles\n";
  write_file(folder / "text.txt", text + std::string("\xc3\xa9\xff\x01") + text);
  return {make_data({.name = "text", .paths = {folder / "text.txt"}, .context = 3}),
          {.name = "ngram", .layers = {}, .activation = activation, .context = 3, .embedding = 4, .hidden = 6},
          {.widths = {12, 6, 256}, .gelu = activation == "gelu", .vocabulary = 256, .embedding = 4}};
}

/// A model of images, for tests without an oracle; its layers have oracles.
Problem image_problem(const std::string& name, const ImageShape& image, const std::string& norm = "group") {
  return {make_data({.name = "synthetic", .image = image, .classes = 4, .examples = 300}),
          {.name = name, .layers = {}, .norm = norm},
          {}};
}

std::vector<Problem> image_problems() {
  std::vector<Problem> problems;
  problems.push_back(image_problem("cnn", {2, 5, 4}));
  problems.push_back(image_problem("resnet20", {3, 4, 4}));
  problems.push_back(image_problem("resnet20", {1, 4, 4}, "batch"));
  return problems;
}

/// A transformer, for tests of every model; tests/sim/models/transformer_test.cpp compares it with an oracle.
Problem transformer_problem(const std::string& name) {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 80; ++i) text += "line " + std::to_string(i * i) + "\n";
  write_file(folder / "text.txt", text);
  return {make_data({.name = "text",
                     .paths = {folder / "text.txt"},
                     .seed = 3,
                     .context = 7,
                     .target = model_entry(name).target}),
          completed({.name = name, .layers = {}, .context = 7, .depth = 2, .width = 6, .heads = 2, .dropout = 0.25}),
          {}};
}

std::vector<Problem> all_problems() {
  std::vector<Problem> problems = image_problems();
  problems.push_back(softmax_problem());
  problems.push_back({make_data({.name = "synthetic", .features = 5, .classes = 2, .examples = 300}),
                      {.name = "logistic", .layers = {}},
                      {}});
  problems.push_back(mlp_problem("gelu"));
  problems.push_back(ngram_problem("gelu"));
  for (const char* name : {"bert-nano", "gpt-nano"}) problems.push_back(transformer_problem(name));
  return problems;
}

/// Returns initial weights with biases that are not zero.
std::vector<float> some_weights(const Model& model, std::uint32_t seed) {
  std::vector<float> weights = model.initial_weights(seed);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] += 0.1f * static_cast<float>(std::sin(1.7 * static_cast<double>(i) + seed));
  }
  return weights;
}

oracle::Vector in_double(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

template <class T>
std::vector<T> part(const std::vector<T>& values, std::size_t index, std::size_t parts) {
  const auto size = static_cast<std::ptrdiff_t>(values.size() / parts);
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(index) * size;
  return {begin, begin + size};
}

oracle::Examples examples_of(const Batch& batch, std::size_t worker) {
  const auto workers = static_cast<std::size_t>(batch.workers);
  const std::vector<float> features = part(batch.features, worker, workers);
  return {in_double(features), part(batch.tokens, worker, workers), part(batch.labels, worker, workers)};
}

/// The results of a model, with a gap between the gradient rows to which nothing may be written.
struct Gradients {
  std::vector<float> values;
  std::vector<double> losses;
  Index stride = 0;

  std::vector<float> row(std::size_t worker, std::size_t size) const {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(worker) * stride;
    return {begin, begin + static_cast<std::ptrdiff_t>(size)};
  }
};

constexpr float kCanary = -77.0f;
constexpr Index kGap = 3;

Gradients compute(Model& model, const device::Device& device, const std::vector<float>& weights, Index stride,
                  const Batch& batch) {
  device::Buffer<float> on_device(device, static_cast<Index>(weights.size()));
  on_device.upload(weights);
  Gradients result{.values = {}, .losses = {}, .stride = model.parameters() + kGap};
  result.values.assign(static_cast<std::size_t>(batch.workers * result.stride), kCanary);
  result.losses.assign(static_cast<std::size_t>(batch.workers), kCanary);
  device::Buffer<float> rows(device, static_cast<Index>(result.values.size()));
  rows.upload(result.values);
  result.losses = model.gradients({on_device.data(), stride}, batch, {rows.data(), result.stride}).losses();
  result.values = rows.to_host();
  return result;
}

bool gaps_untouched(const Gradients& gradients, Index workers) {
  for (Index worker = 0; worker < workers; ++worker) {
    for (Index i = (worker + 1) * gradients.stride - kGap; i < (worker + 1) * gradients.stride; ++i) {
      if (gradients.values[static_cast<std::size_t>(i)] != kCanary) return false;
    }
  }
  return true;
}

/// Largest difference of a tensor's gradient to the oracle's, relative to the norm of the latter. Where the oracle has
/// zeros only (dead ReLUs), so must the model. `compared` collects the tensors with a gradient.
double worst_difference(const Model& model, const std::vector<float>& gradient, const oracle::Vector& expected,
                        std::set<std::string>& compared) {
  double worst = 0;
  std::size_t at = 0;
  for (const compress::Tensor& tensor : model.tensors()) {
    double difference = 0, norm = 0;
    for (Index i = 0; i < tensor.size; ++i, ++at) {
      difference += std::pow(static_cast<double>(gradient[at]) - expected[at], 2);
      norm += expected[at] * expected[at];
    }
    if (norm > 0) compared.insert(tensor.name);
    worst = std::max(worst, difference == 0 ? 0 : std::sqrt(difference / norm));
  }
  return worst;
}

struct Expected {
  oracle::Vector gradient;
  double loss;
};

/// Returns the oracle's result for each worker, with one weight row per worker if `own_weights`.
std::vector<Expected> expectations(const Problem& problem, const Model& model, Index workers, Index batch,
                                   bool own_weights) {
  const Batch all = problem.sample(workers, batch);
  std::vector<Expected> result;
  for (std::uint32_t worker = 0; worker < static_cast<std::uint32_t>(workers); ++worker) {
    const oracle::Vector weights = in_double(some_weights(model, own_weights ? worker : 0));
    const oracle::Examples examples = examples_of(all, worker);
    result.push_back(
        {oracle::gradient(problem.network, weights, examples), oracle::mean_loss(problem.network, weights, examples)});
  }
  return result;
}

void check_gradients(const Problem& problem, Index batch, bool own_weights,
                     const std::vector<Index>& worker_counts = {1, 2, kWorkers}) {
  const auto model = problem.model();
  const auto parameters = static_cast<std::size_t>(model->parameters());
  const std::vector<Expected> expected = expectations(problem, *model, worker_counts.back(), batch, own_weights);
  std::set<std::string> compared;
  for (const Index workers : worker_counts) {
    CAPTURE(problem.config.name, problem.config.activation, batch, workers, own_weights);
    std::vector<float> weights = some_weights(*model, 0);
    for (std::uint32_t worker = 1; own_weights && worker < static_cast<std::uint32_t>(workers); ++worker) {
      const std::vector<float> more = some_weights(*model, worker);
      weights.insert(weights.end(), more.begin(), more.end());
    }
    const Index stride = own_weights ? model->parameters() : 0;
    const Gradients gradients = compute(*model, problem.device, weights, stride, problem.sample(workers, batch));
    CHECK(gaps_untouched(gradients, workers));
    for (std::size_t worker = 0; worker < gradients.losses.size(); ++worker) {
      CAPTURE(worker);
      CHECK(gradients.losses[worker] == Approx(expected[worker].loss).epsilon(1e-5));
      CHECK(worst_difference(*model, gradients.row(worker, parameters), expected[worker].gradient, compared) < 1e-4);
    }
  }
  CHECK(compared.size() == model->tensors().size());
}

void check_gradients(const Problem& problem) {
  for (const Index batch : {1, 3, 16}) {
    check_gradients(problem, batch, false);
    check_gradients(problem, batch, true);
  }
}

void check_evaluation(const Problem& problem) {
  const auto model = problem.model();
  const std::vector<float> weights = some_weights(*model, 9);
  device::Buffer<float> on_device(problem.device, model->parameters());
  on_device.upload(weights);
  for (const Index count : {1, 2, 17, 29}) {
    CAPTURE(problem.config.name, count);
    Batch batch;
    problem.data->holdout(0, count, batch);
    const Evaluation result = model->evaluate({on_device.data(), 0}, batch);
    const oracle::Result expected = oracle::evaluate(problem.network, in_double(weights), examples_of(batch, 0));
    CHECK(result.examples == count);
    CHECK(result.correct == expected.correct);
    CHECK(result.loss == Approx(expected.loss).epsilon(1e-5));
    CHECK(result.mean_loss() == Approx(expected.loss / static_cast<double>(count)).epsilon(1e-5));
  }
}

/// Passes a batch of `rows` rows that leaves NaN in every buffer.
Batch poison(const Problem& problem, Index rows) {
  Batch batch = problem.sample(1, rows);
  std::fill(batch.features.begin(), batch.features.end(), std::numeric_limits<float>::quiet_NaN());
  return batch;
}

/// Compares a small batch after a large one of NaN with the small one alone.
void check_leaks(const Problem& problem, Index workers, Index batch) {
  CAPTURE(problem.config.name, workers, batch);
  const auto fresh = problem.model(), used = problem.model();
  std::vector<float> weights;
  for (std::uint32_t worker = 0; worker < static_cast<std::uint32_t>(workers); ++worker) {
    const std::vector<float> more = some_weights(*fresh, worker);
    weights.insert(weights.end(), more.begin(), more.end());
  }
  std::vector<float> bad_weights(static_cast<std::size_t>(fresh->parameters()));
  std::fill(bad_weights.begin(), bad_weights.end(), std::numeric_limits<float>::quiet_NaN());
  for (const Index stride : {Index{0}, fresh->parameters()}) {
    device::Buffer<float> on_device(problem.device, fresh->parameters());
    on_device.upload(bad_weights);
    compute(*used, problem.device, bad_weights, 0, poison(problem, 70));
    const Evaluation bad = used->evaluate({on_device.data(), 0}, poison(problem, 90));
    REQUIRE(std::isnan(bad.loss));
    const Gradients expected = compute(*fresh, problem.device, weights, stride, problem.sample(workers, batch));
    const Gradients result = compute(*used, problem.device, weights, stride, problem.sample(workers, batch));
    CHECK(std::isfinite(expected.losses[0]));
    CHECK(result.losses == expected.losses);
    CHECK(std::memcmp(result.values.data(), expected.values.data(), result.values.size() * sizeof(float)) == 0);
  }
}

/// Compares each worker of a batch alone with all of them together.
void check_neighbours(const Problem& problem, Index batch) {
  CAPTURE(problem.config.name, problem.config.norm, batch);
  const auto model = problem.model();
  const std::vector<float> weights = some_weights(*model, 0);
  const auto parameters = static_cast<std::size_t>(model->parameters());
  const Gradients together = compute(*model, problem.device, weights, 0, problem.sample(kWorkers, batch));
  for (Index worker = 0; worker < kWorkers; ++worker) {
    Batch alone;
    problem.data->sample(3, {worker, 1}, batch, alone);
    const Gradients own = compute(*model, problem.device, weights, 0, alone);
    CHECK(own.losses[0] == together.losses[static_cast<std::size_t>(worker)]);
    CHECK(own.row(0, parameters) == together.row(static_cast<std::size_t>(worker), parameters));
  }
}

/// With `bits` bits of mantissa, losses and gradients are off by a few units in the last place; gradients of images by
/// more, where another pixel is the largest or a ReLU is on the other side.
void check_precision(Problem problem, device::Precision precision, int bits) {
  CAPTURE(problem.config.name, bits);
  const auto exact = problem.model();
  problem.config.precision = precision;
  const auto rounding = problem.model();
  const std::vector<float> weights = some_weights(*exact, 0);
  const Batch batch = problem.sample(2, 5);
  const Gradients expected = compute(*exact, problem.device, weights, 0, batch);
  const Gradients result = compute(*rounding, problem.device, weights, 0, batch);
  std::set<std::string> compared;
  const double unit = std::ldexp(1.0, -bits);
  const double difference =
      worst_difference(*exact, result.row(0, weights.size()), in_double(expected.row(0, weights.size())), compared);
  CHECK(difference > 0.05 * unit);
  if (problem.data->image() == ImageShape{}) CHECK(difference < 20 * unit);
  CHECK(result.losses != expected.losses);
  CHECK(result.losses[0] == Approx(expected.losses[0]).epsilon(20 * unit));
  device::Buffer<float> on_device(problem.device, exact->parameters());
  on_device.upload(weights);
  CHECK(rounding->evaluate({on_device.data(), 0}, batch).loss != exact->evaluate({on_device.data(), 0}, batch).loss);
}

std::vector<std::string> tensor_names(const Model& model) {
  std::vector<std::string> names;
  for (const compress::Tensor& tensor : model.tensors()) names.push_back(tensor.name);
  return names;
}

}  // namespace

TEST_CASE("model: gradients of softmax regression are those of the oracle") {
  check_gradients(softmax_problem());
}

TEST_CASE("model: gradients of an mlp are those of the oracle") {
  check_gradients(mlp_problem("relu"));
  check_gradients(mlp_problem("gelu"));
}

TEST_CASE("model: gradients of an ngram with one weight row for all are those of the oracle") {
  for (const Index batch : {1, 3}) check_gradients(ngram_problem("relu"), batch, false);
  check_gradients(ngram_problem("relu"), 16, false, {1, 2});
}

TEST_CASE("model: gradients of an ngram with a weight row per worker are those of the oracle") {
  for (const Index batch : {1, 3}) check_gradients(ngram_problem("gelu"), batch, true);
  check_gradients(ngram_problem("gelu"), 16, true, {1, 2});
}

TEST_CASE("model: a row of weights for each worker gives what one row for all gives, where the rows are equal") {
  for (const Problem& problem : {softmax_problem(), mlp_problem("relu"), mlp_problem("gelu"), ngram_problem("relu"),
                                 transformer_problem("bert-nano"), transformer_problem("gpt-nano")}) {
    for (const Index batch : {1, 5, 16, 32}) {
      const auto model = problem.model();
      const std::vector<float> row = some_weights(*model, 0);
      std::vector<float> rows;
      for (Index worker = 0; worker < kWorkers; ++worker) rows.insert(rows.end(), row.begin(), row.end());
      const Batch samples = problem.sample(kWorkers, batch);
      const Gradients shared = compute(*model, problem.device, row, 0, samples);
      const Gradients own = compute(*model, problem.device, rows, model->parameters(), samples);
      CAPTURE(problem.config.name, problem.config.activation, batch);
      for (std::size_t worker = 0; worker < shared.losses.size(); ++worker) {
        std::set<std::string> compared;
        const std::vector<float> expected = shared.row(worker, row.size());
        CHECK(own.losses[worker] == Approx(shared.losses[worker]).epsilon(1e-6));
        CHECK(worst_difference(*model, own.row(worker, row.size()), in_double(expected), compared) < 1e-5);
        CHECK(compared.size() > 0);
      }
    }
  }
}

TEST_CASE("model: weights and embeddings are matrices, biases are vectors") {
  const auto mlp = mlp_problem("relu").model();
  const auto ngram = ngram_problem("relu").model();
  for (const auto& model : {mlp.get(), ngram.get()}) {
    for (const compress::Tensor& tensor : model->tensors()) {
      CAPTURE(tensor.name);
      CHECK(tensor.size % tensor.rows == 0);
      CHECK((tensor.rows > 1) == (tensor.name.find("bias") == std::string::npos));
    }
  }
  CHECK(ngram->tensors()[0] == compress::Tensor{"embedding", 256 * 4, 256});
}

TEST_CASE("model: embeddings of absent bytes have a gradient of exactly zero") {
  const Problem problem = ngram_problem("relu");
  const auto model = problem.model();
  const Batch batch = problem.sample(2, 3);
  const Gradients gradients = compute(*model, problem.device, some_weights(*model, 0), 0, batch);
  for (std::size_t worker = 0; worker < 2; ++worker) {
    const std::vector<float> row = gradients.row(worker, 256 * 4);
    const std::vector<bool> unused = oracle::unused(problem.network, row.size(), examples_of(batch, worker));
    REQUIRE(std::count(unused.begin(), unused.end(), true) > 900);
    Index wrong = 0;
    for (std::size_t i = 0; i < row.size(); ++i) wrong += unused[i] == (row[i] != 0.0f) ? 1 : 0;
    CHECK(wrong == 0);
  }
}

TEST_CASE("model: loss and hits of an evaluation are those of the oracle") {
  check_evaluation(softmax_problem());
  check_evaluation(mlp_problem("relu"));
  check_evaluation(mlp_problem("gelu"));
  check_evaluation(ngram_problem("gelu"));
}

TEST_CASE("model: nothing of a larger batch leaks into a smaller one") {
  for (const Index batch : {1, 5, 16}) {
    check_leaks(softmax_problem(), 1, batch);
    check_leaks(mlp_problem("relu"), 3, batch);
    check_leaks(ngram_problem("gelu"), 3, batch);
    check_leaks(transformer_problem("bert-nano"), 3, batch);
    check_leaks(transformer_problem("gpt-nano"), 3, batch);
  }
  for (const Problem& problem : image_problems()) check_leaks(problem, 3, 5);
}

TEST_CASE("model: a worker's bits do not depend on who is beside it") {
  for (const Problem& problem : {mlp_problem("gelu"), ngram_problem("relu"), transformer_problem("bert-nano"),
                                 transformer_problem("gpt-nano")}) {
    for (const Index batch : {1, 5, 16}) check_neighbours(problem, batch);
  }
  for (const Problem& problem : image_problems()) {
    for (const Index batch : {1, 5}) check_neighbours(problem, batch);
  }
}

TEST_CASE("model: gradients in fewer bits are near those in float32 and not the same, whoever is beside a worker") {
  for (Problem& problem : all_problems()) check_precision(std::move(problem), device::Precision::tf32, 10);
  for (Problem& problem : all_problems()) check_precision(std::move(problem), device::Precision::bf16, 7);
  for (Problem& problem : all_problems()) {
    problem.config.precision = device::Precision::bf16;
    check_neighbours(problem, 5);
    check_leaks(problem, 3, 5);
  }
}

TEST_CASE("model: the models that take a precision are those with matrix products") {
  for (const ModelEntry& entry : models()) {
    CAPTURE(entry.name);
    const bool products = entry.input != Input::none && entry.input != Input::any;
    CHECK((entry.options.find("precision") != std::string_view::npos) == products);
  }
}

TEST_CASE("model: sizes of the models of images") {
  CHECK(image_problem("cnn", {1, 28, 28}).model()->parameters() ==
        (9 * 16 + 16) + (9 * 16 * 32 + 32) + (7 * 7 * 32 * 128 + 128) + (128 * 4 + 4));
  // Convolutions, gamma and beta of each, the dense layer.
  constexpr Index stem = 9 * 3 * 16 + 32, one = 6 * (9 * 16 * 16 + 32);
  constexpr Index two = 9 * 16 * 32 + 5 * 9 * 32 * 32 + 16 * 32 + 7 * 64;
  constexpr Index three = 9 * 32 * 64 + 5 * 9 * 64 * 64 + 32 * 64 + 7 * 128;
  const auto resnet = image_problem("resnet20", {3, 4, 4}).model();
  CHECK(resnet->parameters() == stem + one + two + three + 64 * 4 + 4);
  CHECK(tensor_names(*resnet).front() == "stem.conv.weight");
  CHECK(tensor_names(*resnet).back() == "head.bias");
  CHECK(resnet->tensors()[1] == compress::Tensor{"stem.norm.weight", 16});
  // The paper's network for ImageNet has 11,689,512 parameters: 1,000 classes, and a stem 7 x 7 of 9,408 weights.
  const auto large = image_problem("resnet18", {3, 2, 2}).model();
  CHECK(large->parameters() == 11689512 - 513 * (1000 - 4) - 9408 + 9 * 3 * 64);
}

TEST_CASE("model: products of a model of images") {
  // At 8 x 8, 4 x 4 and 2 x 2 pixels: all three products, except for the stem, which reads data.
  constexpr double stem = 64 * 27 * 16, one = 6 * 64 * 9 * 16 * 16;
  constexpr double two = 16 * (9 * 16 * 32 + 5 * 9 * 32 * 32 + 16 * 32);
  constexpr double three = 4 * (9 * 32 * 64 + 5 * 9 * 64 * 64 + 32 * 64), head = 64 * 4;
  const auto model = image_problem("resnet20", {3, 8, 8}).model();
  CHECK(model->gradient_flops(5) == 5 * 2 * (2 * stem + 3 * (one + two + three + head)));
}

TEST_CASE("model: tensors cover the parameters") {
  for (const Problem& problem : {softmax_problem(), mlp_problem("relu"), ngram_problem("relu"),
                                 transformer_problem("bert-nano"), transformer_problem("gpt-nano")}) {
    const auto model = problem.model();
    CHECK(static_cast<Index>(model->initial_weights(1).size()) == model->parameters());
  }
  CHECK(tensor_names(*mlp_problem("relu").model()) == std::vector<std::string>{"layer1.weight", "layer1.bias",
                                                                               "layer2.weight", "layer2.bias",
                                                                               "layer3.weight", "layer3.bias"});
  CHECK(ngram_problem("relu").model()->parameters() == 256 * 4 + 12 * 6 + 6 + 6 * 256 + 256);
  CHECK(tensor_names(*ngram_problem("relu").model()).front() == "embedding");
}

TEST_CASE("model: initial weights are a function of the seed, with zero biases and the variance promised") {
  const DataConfig wide{.name = "synthetic", .features = 200, .classes = 50, .examples = 300};
  const auto model = make_model(device::Device::cpu(1), {.name = "mlp", .layers = {200, 100, 50}}, *make_data(wide));
  const std::vector<float> weights = model->initial_weights(5);
  CHECK(weights == model->initial_weights(5));
  CHECK(weights != model->initial_weights(6));
  const auto mean_square = [&](std::size_t tensor) {
    const Range range = compress::ranges_of(model->tensors())[tensor];
    double sum = 0;
    for (Index i = range.first; i < range.end(); ++i) {
      sum += std::pow(static_cast<double>(weights[static_cast<std::size_t>(i)]), 2);
    }
    return sum / static_cast<double>(range.count);
  };
  CHECK(mean_square(0) == Approx(2.0 / 200).epsilon(0.05));
  CHECK(mean_square(1) == 0);
  CHECK(mean_square(2) == Approx(1.0 / 100).epsilon(0.1));
  CHECK(mean_square(3) == 0);
}

TEST_CASE("model: what cannot be built is an error that names the option") {
  const device::Device device = device::Device::cpu(1);
  const auto dense = dense_data();
  const auto make = [&](const ModelConfig& config) { return make_model(device, config, *dense); };
  CHECK_THROWS_WITH(make({.name = "mlpx", .layers = {}}), Contains("mlpx") && Contains("did you mean mlp?"));
  CHECK_THROWS_WITH(make({.name = "mlp", .layers = {6, 4}}), Contains("model.layers") && Contains("must be 5"));
  CHECK_THROWS_WITH(make({.name = "mlp", .layers = {5, 3}}), Contains("model.layers") && Contains("last 4"));
  CHECK_THROWS_WITH(make({.name = "mlp", .layers = {5}}), Contains("model.layers"));
  CHECK_THROWS_WITH(make({.name = "mlp", .layers = {5, 0, 4}}), Contains("model.layers 0"));
  CHECK_THROWS_WITH(make({.name = "mlp", .layers = {5, 4}, .activation = "tanh"}),
                    Contains("model.activation tanh") && Contains("relu or gelu"));
  CHECK_THROWS_WITH(make({.name = "ngram", .layers = {}}), Contains("ngram") && Contains("--data text"));
  CHECK_THROWS_AS(make({.name = "ngram", .layers = {}}), ConfigError);
  CHECK_THROWS_WITH(make({.name = "cnn", .layers = {}}), Contains("cnn") && Contains("--data.image"));
  const auto with_images = [&](const ModelConfig& config) {
    const auto images = make_data({.name = "synthetic", .image = {1, 3, 9}, .examples = 300});
    return make_model(device, config, *images);
  };
  CHECK_THROWS_WITH(with_images({.name = "cnn", .layers = {}}), Contains("too small") && Contains("4 x 4"));
  CHECK_THROWS_WITH(with_images({.name = "resnet20", .layers = {}, .norm = "layer"}),
                    Contains("model.norm layer") && Contains("group or batch"));
  for (const Index groups : {-1, 0, 3, 32}) {
    CHECK_THROWS_WITH(with_images({.name = "resnet20", .layers = {}, .groups = groups}),
                      Contains("model.groups " + std::to_string(groups)) && Contains("a divisor of 16"));
  }
}
