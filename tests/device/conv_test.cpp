// Convolutions and their gradients against plain loops in double.

#include "device/math/conv.hpp"

#include <algorithm>

#include "device/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/device/products.hpp"
#include "tests/oracle/conv.hpp"
#include "tests/oracle/random.hpp"

using namespace onebit;
using namespace onebit::device;
using namespace onebit::tests;

namespace {

using Values = std::vector<float>;

constexpr float kCanary = -77.0f;
constexpr Index kGap = 5;  // between rows of filters and of gradients

const std::vector<ConvShape>& shapes() {
  static const std::vector<ConvShape> all = {
      {.height = 8, .width = 8, .channels = 16, .filters = 16},
      {.height = 9, .width = 7, .channels = 3, .filters = 35},
      {.height = 5, .width = 6, .channels = 33, .filters = 5, .kernel = 3, .stride = 2, .padding = 1},
      {.height = 8, .width = 8, .channels = 6, .filters = 48, .kernel = 1, .stride = 2, .padding = 0},
      {.height = 28, .width = 28, .channels = 1, .filters = 6, .kernel = 5, .stride = 1, .padding = 2},
      {.height = 7, .width = 9, .channels = 2, .filters = 17, .kernel = 4, .stride = 3, .padding = 0},
      {.height = 1, .width = 1, .channels = 1, .filters = 1, .kernel = 1, .stride = 1, .padding = 0},
      {.height = 2, .width = 2, .channels = 20, .filters = 64, .kernel = 3, .stride = 2, .padding = 2},
  };
  return all;
}

/// Random numbers for a pass: rows of filters with gaps, and a bias after the filters of each row.
struct Problem {
  ConvShape shape;
  Index workers, images;
  bool own_filters;

  Index row() const { return shape.weights() + shape.filters + kGap; }
  Index sets() const { return own_filters ? workers : 1; }
  Values input() const { return oracle::normals(workers * images * shape.inputs(), 1); }
  Values filters() const { return oracle::normals(sets() * row(), 2); }
  Values delta() const { return oracle::normals(workers * images * shape.outputs(), 3); }
  ConvBatch batch(const Buffer<float>& on_device) const {
    return {.workers = workers, .images = images, .weights = on_device.data(), .stride = own_filters ? row() : 0};
  }
};

oracle::Vector slice(const Values& values, Index first, Index count) {
  return {values.begin() + first, values.begin() + first + count};
}

oracle::Vector filters_of(const Problem& problem, const Values& filters, Index worker) {
  return slice(filters, problem.own_filters ? worker * problem.row() : 0, problem.shape.weights());
}

double error(const oracle::Vector& expected, const oracle::Vector& result) {
  return oracle::distance(expected, result) / (1e-30 + oracle::norm(expected));
}

Values run_forward(const Device& device, const Problem& problem, bool epilogue) {
  ConvPlan plan(problem.shape);
  plan.reserve(device, problem.sets());
  const auto input = on(device, problem.input()), filters = on(device, problem.filters());
  Buffer<float> output(device, problem.workers * problem.images * problem.shape.outputs());
  ConvBatch batch = problem.batch(filters);
  if (epilogue) batch.bias = filters.data() + problem.shape.weights();
  batch.relu = epilogue;
  conv_forward(device, plan, batch, input.data(), output.data());
  return output.to_host();
}

Values run_input_gradient(const Device& device, const Problem& problem) {
  ConvPlan plan(problem.shape);
  plan.reserve(device, problem.sets());
  const auto delta = on(device, problem.delta()), filters = on(device, problem.filters());
  Buffer<float> result(device, problem.workers * problem.images * problem.shape.inputs());
  conv_input_gradient(device, plan, problem.batch(filters), delta.data(), result.data());
  return result.to_host();
}

/// Returns rows of gradients, initialized with the canary or with `before`.
Values run_weight_gradient(const Device& device, const Problem& problem, bool add) {
  ConvPlan plan(problem.shape);
  plan.reserve(device, problem.sets());
  const auto input = on(device, problem.input()), delta = on(device, problem.delta());
  const auto filters = on(device, problem.filters());
  auto rows = on(device, Values(static_cast<std::size_t>(problem.workers * problem.row()), kCanary));
  conv_weight_gradient(device, plan, problem.batch(filters), input.data(), delta.data(),
                       {rows.data(), problem.row(), add});
  return rows.to_host();
}

void check_forward(const Device& device, const Problem& problem, bool epilogue) {
  const ConvShape& shape = problem.shape;
  const Values bias_values = problem.filters(), filters = oracle::rounded(device.precision(), bias_values);
  const Values input = oracle::rounded(device.precision(), problem.input());
  const Values output = run_forward(device, problem, epilogue);
  double worst = 0;
  for (Index i = 0; i < problem.workers * problem.images; ++i) {
    const Index worker = i / problem.images;
    oracle::Vector expected = oracle::convolution(shape, slice(input, i * shape.inputs(), shape.inputs()),
                                                  filters_of(problem, filters, worker));
    const Index bias = (problem.own_filters ? worker * problem.row() : 0) + shape.weights();
    for (std::size_t o = 0; epilogue && o < expected.size(); ++o) {
      const auto filter = static_cast<std::ptrdiff_t>(o) % shape.filters;
      expected[o] =
          std::max(0.0, expected[o] + static_cast<double>(bias_values[static_cast<std::size_t>(bias + filter)]));
    }
    worst = std::max(worst, error(expected, slice(output, i * shape.outputs(), shape.outputs())));
  }
  CHECK(worst < product_tolerance(device));
}

void check_input_gradient(const Device& device, const Problem& problem) {
  const ConvShape& shape = problem.shape;
  const Values delta = oracle::rounded(device.precision(), problem.delta());
  const Values filters = oracle::rounded(device.precision(), problem.filters());
  const Values result = run_input_gradient(device, problem);
  double worst = 0;
  for (Index i = 0; i < problem.workers * problem.images; ++i) {
    const oracle::Vector expected = oracle::convolution_input_gradient(
        shape, slice(delta, i * shape.outputs(), shape.outputs()), filters_of(problem, filters, i / problem.images));
    worst = std::max(worst, error(expected, slice(result, i * shape.inputs(), shape.inputs())));
  }
  CHECK(worst < product_tolerance(device));
}

void check_weight_gradient(const Device& device, const Problem& problem, bool add) {
  const ConvShape& shape = problem.shape;
  const Values input = oracle::rounded(device.precision(), problem.input());
  const Values delta = oracle::rounded(device.precision(), problem.delta());
  const Values result = run_weight_gradient(device, problem, add);
  double worst = 0;
  for (Index worker = 0; worker < problem.workers; ++worker) {
    oracle::Vector expected(static_cast<std::size_t>(shape.weights()), add ? static_cast<double>(kCanary) : 0.0);
    for (Index i = worker * problem.images; i < (worker + 1) * problem.images; ++i) {
      const oracle::Vector one = oracle::convolution_weight_gradient(
          shape, slice(input, i * shape.inputs(), shape.inputs()), slice(delta, i * shape.outputs(), shape.outputs()));
      std::transform(one.begin(), one.end(), expected.begin(), expected.begin(), std::plus<>());
    }
    const Index first = worker * problem.row();
    worst = std::max(worst, error(expected, slice(result, first, shape.weights())));
    const auto gap = result.begin() + first + shape.weights();
    CHECK(std::all_of(gap, gap + problem.row() - shape.weights(), [](float value) { return value == kCanary; }));
  }
  CHECK(worst < product_tolerance(device));
}

}  // namespace

TEST_CASE("convolution: results and gradients are those of plain loops") {
  const std::string backend = GENERATE(from_range(backends()));
  const Precision precision = GENERATE(Precision::fp32, Precision::tf32, Precision::bf16);
  const Device device = device_of(backend).with_precision(precision);
  for (const ConvShape& shape : shapes()) {
    for (const bool own_filters : {false, true}) {
      CAPTURE(backend, oracle::mantissa_bits(precision), shape.height, shape.width, shape.channels, shape.filters,
              own_filters);
      const Problem problem{shape, 3, 2, own_filters};
      for (const bool flag : {false, true}) {
        check_forward(device, problem, flag);
        check_weight_gradient(device, problem, flag);
      }
      check_input_gradient(device, problem);
    }
  }
}

TEST_CASE("convolution: gradients by filters over several parts of a worker's pixels") {
  const ConvShape large{.height = 96, .width = 96, .channels = 16, .filters = 2};
  for (const std::string& backend : backends()) {
    for (const Problem& problem : {Problem{large, 1, 5, false}, Problem{large, 5, 1, true}}) {
      CAPTURE(backend, problem.workers);
      check_forward(device_of(backend), problem, true);
      check_input_gradient(device_of(backend), problem);
      check_weight_gradient(device_of(backend), problem, true);
    }
    const ConvShape small{.height = 16, .width = 16, .channels = 4, .filters = 8};
    for (const Index images : {1, 7, 8, 12}) {
      CAPTURE(backend, images);
      for (const bool add : {false, true}) check_weight_gradient(device_of(backend), {small, 3, images, false}, add);
    }
    const ConvShape thin{.height = 32, .width = 32, .channels = 4, .filters = 2, .kernel = 1, .padding = 0};
    for (const bool add : {false, true}) check_weight_gradient(device_of(backend), {thin, 3, 50, false}, add);
  }
}

#if defined(__FMA__)
TEST_CASE("convolution: a GPU has the bits of a CPU that fuses multiplications with additions") {
  const auto check = [](const Problem& problem, const Device& cpu, const Device& gpu) {
    const ConvShape& shape = problem.shape;
    CAPTURE(shape.height, shape.width, shape.channels, shape.filters, problem.images, problem.own_filters);
    CHECK(run_forward(gpu, problem, true) == run_forward(cpu, problem, true));
    CHECK(run_input_gradient(gpu, problem) == run_input_gradient(cpu, problem));
    for (const bool add : {false, true}) {
      CHECK(run_weight_gradient(gpu, problem, add) == run_weight_gradient(cpu, problem, add));
    }
  };
  for (const std::string& backend : backends()) {
    if (!device_of(backend).is_gpu()) continue;
    for (const ConvShape& shape : shapes()) {
      for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
        const Device cpu = Device::cpu(2).with_precision(precision), gpu = device_of(backend).with_precision(precision);
        check({shape, 3, 2, true}, cpu, gpu);
      }
      check({shape, 2, 11, false}, Device::cpu(2), device_of(backend));
    }
    for (const auto& [channels, filters] : {std::pair<Index, Index>{40, 3}, {20, 40}, {4, 20}}) {  // tall tiles
      ConvShape large{.height = 256, .width = 512, .channels = channels, .filters = filters, .kernel = 1, .padding = 0};
      check({large, 1, 1, false}, Device::cpu(2), device_of(backend));
    }
  }
}
#endif

TEST_CASE("convolution: a worker's bits depend on neither its neighbours nor the number of threads") {
  const Precision precision = GENERATE(Precision::fp32, Precision::bf16);
  const auto cpu = [&](int threads) { return Device::cpu(threads).with_precision(precision); };
  for (const ConvShape& shape : shapes()) {
    CAPTURE(shape.height, shape.width, shape.channels, shape.filters);
    const Problem all{shape, 5, 3, false}, first{shape, 1, 3, false};
    const Values outputs = run_forward(cpu(1), all, true), deltas = run_input_gradient(cpu(1), all);
    const Values gradients = run_weight_gradient(cpu(1), all, false);
    for (const int threads : {2, 3, 16}) {
      CHECK(run_forward(cpu(threads), all, true) == outputs);
      CHECK(run_input_gradient(cpu(threads), all) == deltas);
      CHECK(run_weight_gradient(cpu(threads), all, false) == gradients);
    }
    const auto begins_with = [](const Values& whole, const Values& part) {
      return std::equal(part.begin(), part.end(), whole.begin());
    };
    CHECK(begins_with(outputs, run_forward(cpu(2), first, true)));
    CHECK(begins_with(deltas, run_input_gradient(cpu(2), first)));
    CHECK(begins_with(gradients, run_weight_gradient(cpu(2), first, false)));
  }
}

TEST_CASE("convolution: invalid sizes are refused") {
  const ConvShape good = shapes().front();
  for (Index ConvShape::*size : {&ConvShape::height, &ConvShape::width, &ConvShape::channels, &ConvShape::filters,
                                 &ConvShape::kernel, &ConvShape::stride}) {
    ConvShape bad = good;
    bad.*size = 0;
    CHECK_THROWS_AS(ConvPlan(bad), Error);
  }
  ConvShape bad = good;
  bad.kernel = 11;
  CHECK_THROWS_WITH(ConvPlan(bad), "these sizes do not define a convolution (8 x 8 x 16, kernel 11)");
}
