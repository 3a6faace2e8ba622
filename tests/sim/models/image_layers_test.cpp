// Every layer of images, forward and backward, compared with a forward pass in double precision and its central
// differences: gradients of a random projection of the outputs.

#include <algorithm>
#include <functional>

#include "device/base/error.hpp"
#include "sim/layers/image/conv.hpp"
#include "sim/layers/image/pool.hpp"
#include "sim/layers/residual.hpp"
#include "sim/layers/sequential.hpp"
#include "tests/catch.hpp"
#include "tests/devices.hpp"
#include "tests/oracle/image_layers.hpp"
#include "tests/oracle/random.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

using oracle::Vector;
using Values = std::vector<float>;

constexpr float kCanary = -77.0f;
constexpr Index kGap = 3;

/// A layer, and its effect on one worker's images in double.
struct Case {
  std::string name;
  std::function<std::unique_ptr<Layer>(Parameters&)> make;
  std::function<Vector(const Vector& weights, const Vector& images)> forward;
};

Case conv_case(const device::ConvShape& shape, bool bias, bool relu) {
  const Index filters = shape.filters;
  return {"conv " + std::to_string(shape.channels) + " to " + std::to_string(filters),
          [=](Parameters& parameters) {
            return std::make_unique<Conv>(parameters, "conv", shape, Conv::Options{bias, relu, 0.5});
          },
          [=](const Vector& weights, const Vector& images) {
            const Vector own_bias = bias ? oracle::part(weights, shape.weights(), filters) : Vector{};
            Vector result = oracle::convolve(shape, images, oracle::part(weights, 0, shape.weights()), own_bias);
            return relu ? oracle::relu(result) : result;
          }};
}

Vector norm_forward(const NormShape& shape, const Vector& weights, Index first, const Vector& images) {
  const Vector gamma = oracle::part(weights, first, shape.channels);
  const Vector beta = oracle::part(weights, first + shape.channels, shape.channels);
  if (shape.batch) return oracle::normalise(images, shape.channels, shape.channels, gamma, beta);
  return oracle::group_norm(images, shape.pixels * shape.channels, shape.channels, shape.groups, gamma, beta);
}

Case norm_case(const NormShape& shape) {
  return {shape.batch ? "batch norm" : "group norm " + std::to_string(shape.groups),
          [=](Parameters& parameters) { return std::make_unique<Norm>(parameters, "norm", shape); },
          [=](const Vector& weights, const Vector& images) {
            const Vector result = norm_forward(shape, weights, 0, images);
            return shape.relu ? oracle::relu(result) : result;
          }};
}

std::vector<Case> pool_cases() {
  return {{"channels last",
           [](Parameters&) { return std::make_unique<ChannelsLast>(5, std::make_unique<GlobalAveragePool>(1, 30)); },
           [](const Vector&, const Vector& images) {
             Vector result = images;
             for (std::size_t i = 0; i < images.size(); ++i) {
               const std::size_t image = i / 30, pixel = i % 30 / 5, channel = i % 5;
               result[i] = images[image * 30 + channel * 6 + pixel];
             }
             return result;
           }},
          {"max-pooling 2",
           [](Parameters&) {
             return std::make_unique<MaxPool>(PoolShape{5, 4, 3, 2});
           },
           [](const Vector&, const Vector& images) { return oracle::max_pool(5, 4, 3, 2, images); }},
          {"max-pooling 3",
           [](Parameters&) {
             return std::make_unique<MaxPool>(PoolShape{3, 7, 18, 3});
           },
           [](const Vector&, const Vector& images) { return oracle::max_pool(3, 7, 18, 3, images); }},
          {"average pooling", [](Parameters&) { return std::make_unique<GlobalAveragePool>(12, 3); },
           [](const Vector&, const Vector& images) { return oracle::average_pool(12, 3, images); }}};
}

/// Convolution, norm, sum with the input or with its convolution and norm, ReLU.
Case residual_case(bool batch, bool shortcut) {
  const Index channels = shortcut ? 6 : 4, stride = shortcut ? 2 : 1;
  const device::ConvShape body{4, 4, 4, channels, 3, stride, 1}, around{4, 4, 4, channels, 1, stride, 0};
  const NormShape norm{body.out_pixels(), channels, 2, batch, true},
      plain{body.out_pixels(), channels, 2, batch, false};
  const auto make = [=](Parameters& parameters) {
    auto conv = std::make_unique<Conv>(parameters, "conv", body, Conv::Options{.deviation = 0.5});
    auto last = std::make_unique<Norm>(parameters, "norm", norm);
    std::unique_ptr<Layer> beside;
    if (shortcut) {
      std::vector<std::unique_ptr<Layer>> layers;
      layers.push_back(std::make_unique<Conv>(parameters, "around", around, Conv::Options{.deviation = 0.5}));
      layers.push_back(std::make_unique<Norm>(parameters, "around.norm", plain));
      beside = std::make_unique<Sequential>(std::move(layers));
    }
    return std::make_unique<Residual>(std::move(conv), std::move(last), std::move(beside));
  };
  const auto forward = [=](const Vector& weights, const Vector& images) {
    Vector result = oracle::convolve(body, images, oracle::part(weights, 0, body.weights()));
    result = norm_forward(norm, weights, body.weights(), result);
    Vector beside = images;
    if (shortcut) {
      const Index first = body.weights() + 2 * channels;
      beside = oracle::convolve(around, images, oracle::part(weights, first, around.weights()));
      beside = norm_forward(plain, weights, first + around.weights(), beside);
    }
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += beside[i];
    return oracle::relu(result);
  };
  return {shortcut ? "residual with a shortcut" : "residual", make, forward};
}

Vector in_double(const Values& values, Index first, Index count) {
  return {values.begin() + first, values.begin() + first + count};
}

/// One pass over some workers: weights, inputs, and the projection that is the loss.
struct Problem {
  const Case& layer_case;
  Index workers, batch;
  bool own_weights, add;

  /// Returns slightly changed initial weights, with a gap after each row.
  Values weights(const Parameters& parameters) const {
    Values result;
    for (Index worker = 0; worker < (own_weights ? workers : 1); ++worker) {
      Values row = parameters.initial(static_cast<std::uint32_t>(worker + 1));
      const Values noise = oracle::normals(parameters.count(), 5, 0, worker);
      for (std::size_t i = 0; i < row.size(); ++i) row[i] += 0.3f * noise[i];
      row.resize(row.size() + kGap, kCanary);
      result.insert(result.end(), row.begin(), row.end());
    }
    return result;
  }
};

struct Outcome {
  Values output, input_delta, gradients;
};

/// Returns the layer's gradients of the projection.
Outcome run(const device::Device& device, const Problem& problem) {
  Parameters parameters;
  const auto layer = problem.layer_case.make(parameters);
  const Index examples = problem.workers * problem.batch, row = parameters.count() + kGap;
  const auto weights = on(device, problem.weights(parameters));
  auto input = on(device, oracle::normals(examples * layer->inputs(), 1));
  auto delta = on(device, oracle::normals(examples * layer->outputs(), 2));
  auto rows = on(device, Values(static_cast<std::size_t>(problem.workers * row), kCanary));
  device::Buffer<float> output(device, examples * layer->outputs());
  device::Buffer<float> input_delta(device, examples * layer->inputs());
  Pass pass{.device = device,
            .weights = {weights.data(), problem.own_weights ? row : 0},
            .workers = problem.workers,
            .batch = problem.batch,
            .training = true,
            .gradients = {rows.data(), row, problem.add}};
  layer->reserve(pass);
  layer->forward(pass, input.data(), output.data());
  Outcome outcome{.output = output.to_host(), .input_delta = {}, .gradients = {}};
  layer->backward(pass, input.data(), output.data(), delta.data(), input_delta.data());
  outcome.input_delta = input_delta.to_host();
  outcome.gradients = rows.to_host();
  return outcome;
}

/// Returns central differences of the projection with respect to each element of `at`.
Vector differences(Vector at, const std::function<double(const Vector&)>& loss) {
  constexpr double step = 1e-5;
  Vector result;
  for (double& value : at) {
    const double middle = value;
    value = middle + step;
    const double above = loss(at);
    value = middle - step;
    result.push_back((above - loss(at)) / (2 * step));
    value = middle;
  }
  return result;
}

double error(const Vector& expected, const Vector& result) {
  return oracle::distance(expected, result) / (1e-6 + oracle::norm(expected));
}

void check(const device::Device& device, const Problem& problem) {
  Parameters parameters;
  const auto layer = problem.layer_case.make(parameters);
  const Outcome outcome = run(device, problem);
  const Index inputs = problem.batch * layer->inputs(), outputs = problem.batch * layer->outputs();
  const Index examples = problem.workers * problem.batch, row = parameters.count() + kGap;
  const Values all_weights = problem.weights(parameters), all_inputs = oracle::normals(examples * layer->inputs(), 1);
  const Values all_deltas = oracle::normals(examples * layer->outputs(), 2);
  for (Index worker = 0; worker < problem.workers; ++worker) {
    CAPTURE(worker);
    const Vector weights = in_double(all_weights, problem.own_weights ? worker * row : 0, parameters.count());
    const Vector input = in_double(all_inputs, worker * inputs, inputs);
    const Vector delta = in_double(all_deltas, worker * outputs, outputs);
    const auto loss = [&](const Vector& own_weights, const Vector& own_input) {
      const Vector result = problem.layer_case.forward(own_weights, own_input);
      return std::inner_product(result.begin(), result.end(), delta.begin(), 0.0);
    };
    CHECK(error(problem.layer_case.forward(weights, input), in_double(outcome.output, worker * outputs, outputs)) <
          1e-5);
    const Vector by_input = differences(input, [&](const Vector& at) { return loss(weights, at); });
    CHECK(error(by_input, in_double(outcome.input_delta, worker * inputs, inputs)) < 1e-4);
    Vector by_weights = differences(weights, [&](const Vector& at) { return loss(at, input); });
    for (double& value : by_weights) value += problem.add ? static_cast<double>(kCanary) : 0.0;
    CHECK(error(by_weights, in_double(outcome.gradients, worker * row, parameters.count())) < 1e-4);
    const auto gap = outcome.gradients.begin() + worker * row + parameters.count();
    CHECK(std::all_of(gap, gap + kGap, [](float value) { return value == kCanary; }));
  }
}

void check(const Case& layer_case, const std::string& backend) {
  const device::Device device = device_of(backend);
  for (const bool own_weights : {false, true}) {
    for (const Index batch : {1, 3}) {
      CAPTURE(backend, layer_case.name, own_weights, batch);
      check(device, {layer_case, 2, batch, own_weights, batch == 3});
    }
  }
}

}  // namespace

TEST_CASE("image layers: convolutions") {
  const std::string backend = GENERATE(from_range(backends()));
  check(conv_case({4, 5, 2, 3}, true, true), backend);
  check(conv_case({5, 4, 3, 2, 3, 2, 1}, false, false), backend);
  check(conv_case({4, 4, 2, 18, 1, 2, 0}, true, false), backend);
}

TEST_CASE("image layers: pooling and the order of channels") {
  const std::string backend = GENERATE(from_range(backends()));
  for (const Case& each : pool_cases()) check(each, backend);
}

TEST_CASE("image layers: GroupNorm and BatchNorm") {
  const std::string backend = GENERATE(from_range(backends()));
  for (const Index groups : {1, 3, 18}) check(norm_case({4, 18, groups, false, groups == 3}), backend);
  for (const bool relu : {false, true}) check(norm_case({6, 5, 1, true, relu}), backend);
}

TEST_CASE("image layers: residual blocks") {
  const std::string backend = GENERATE(from_range(backends()));
  for (const bool batch : {false, true}) {
    for (const bool shortcut : {false, true}) check(residual_case(batch, shortcut), backend);
  }
}

TEST_CASE("image layers: no gradient by the input where none is wanted") {
  const device::Device device = device_of("debug");
  for (const Case& each :
       {conv_case({4, 5, 2, 3}, true, true), residual_case(false, true), norm_case({4, 6, 2}), pool_cases()[1]}) {
    CAPTURE(each.name);
    Parameters parameters;
    const auto layer = each.make(parameters);
    const auto weights = on(device, parameters.initial(1));
    auto input = on(device, oracle::normals(16 * layer->inputs(), 1));
    auto delta = on(device, oracle::normals(16 * layer->outputs(), 2));
    device::Buffer<float> output(device, 16 * layer->outputs()), rows(device, parameters.count());
    const Pass pass{.device = device,
                    .weights = {weights.data(), 0},
                    .workers = 1,
                    .batch = 2,
                    .training = true,
                    .gradients = {rows.data(), parameters.count()}};
    layer->reserve(pass);
    layer->forward(pass, input.data(), output.data());
    layer->backward(pass, input.data(), output.data(), delta.data(), nullptr);
    for (const float gradient : rows.to_host()) CHECK(std::isfinite(gradient));
  }
}

namespace {

constexpr NormShape kBatchNorm{6, 5, 5, true, false};

/// A BatchNorm layer for several passes, one after the other.
class Runner {
 public:
  explicit Runner(const device::Device& device) : device_(device), norm_(parameters_, "norm", kBatchNorm) {}

  Values pass(const Values& images, Index first_worker, Index workers, bool training,
              bool freeze_running_stats = false) {
    const auto weights = on(device_, parameters_.initial(1)), input = on(device_, images);
    const Pass pass{.device = device_,
                    .weights = {weights.data(), 0},
                    .workers = workers,
                    .batch = static_cast<Index>(images.size()) / (workers * norm_.inputs()),
                    .training = training,
                    .freeze_running_stats = freeze_running_stats,
                    .place = {.first_worker = first_worker}};
    device::Buffer<float> output(device_, input.size());
    norm_.reserve(pass);
    norm_.forward(pass, input.data(), output.data());
    return output.to_host();
  }

 private:
  device::Device device_;
  Parameters parameters_;
  Norm norm_;
};

Values images_of(Index count, std::uint32_t seed) {
  Values images = oracle::normals(count * 30, seed);
  for (float& value : images) value = 3.0f * value + 2.0f;
  return images;
}

}  // namespace

TEST_CASE("image layers: BatchNorm evaluates with the running statistics of worker 0") {
  const std::string backend = GENERATE(from_range(backends()));
  Runner runner(device_of(backend));
  Vector mean(5, 0.0), variance(5, 1.0);
  for (std::uint32_t step = 1; step <= 3; ++step) {
    runner.pass(images_of(8, step), 0, 2, true);
    runner.pass(images_of(4, 100 + step), 2, 1, true);
    runner.pass(images_of(4, 200 + step), 0, 1, true, true);  // the same examples again: not counted
    const Vector own = in_double(images_of(8, step), 0, 4 * 30);
    for (Index c = 0; c < 5; ++c) {
      const oracle::MeanAndVariance now = oracle::moments(own, 5, c, 1);
      const auto at = static_cast<std::size_t>(c);
      mean[at] = 0.9 * mean[at] + 0.1 * now.mean;
      variance[at] = 0.9 * variance[at] + 0.1 * now.variance * now.count / (now.count - 1);
    }
  }
  const Values images = images_of(3, 9), result = runner.pass(images, 0, 1, false);
  Vector expected = in_double(images, 0, 90);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] = oracle::normalised(expected[i], {mean[i % 5], variance[i % 5], 0});
  }
  CHECK(error(expected, in_double(result, 0, 90)) < 1e-5);
}

TEST_CASE("image layers: BatchNorm before the first pass leaves values as they are") {
  Runner runner(device_of("cpu"));
  const Values images = images_of(2, 3);
  CHECK(error(in_double(images, 0, 60), in_double(runner.pass(images, 0, 1, false), 0, 60)) < 1e-5);
}

TEST_CASE("image layers: what does not fit is refused") {
  Parameters parameters;
  CHECK_THROWS_WITH(Norm(parameters, "norm", {4, 6, 4}), Contains("4 groups do not divide 6 channels (norm)"));
  CHECK_THROWS_WITH(Norm(parameters, "norm", {4, 6, 0}), Contains("0 groups"));
  CHECK_THROWS_WITH(MaxPool({1, 5, 3, 2}), Contains("no window fits") && Contains("1 x 5 by 2"));
  const auto norm = [&](Index pixels) { return std::make_unique<Norm>(parameters, "norm", NormShape{pixels, 6, 2}); };
  CHECK_THROWS_WITH(Residual(norm(4), norm(5), nullptr), Contains("residual block"));
  CHECK_THROWS_WITH(Residual(norm(4), norm(4), norm(5)), Contains("residual block"));
  CHECK_NOTHROW(Residual(norm(4), norm(4), nullptr));
}
