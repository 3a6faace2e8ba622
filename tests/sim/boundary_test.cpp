// What crosses between workers: masks, bytes, gradients, and refusals.
#include "sim/layers/boundary.hpp"

#include <algorithm>
#include <cmath>

#include "device/base/error.hpp"
#include "tests/sim/models/layer_check.hpp"
#include "tests/sim/models/recommender_step.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;

namespace {

using oracle::Vector;
using Floats = std::vector<float>;

/// Two senders with two columns each.
SendingColumns two_senders() {
  return {.senders = 2, .receivers_send = true, .columns = {{0, 0, 2, 0}, {0, 1, 2, 0}, {1, 0, 2, 2}, {1, 1, 2, 2}}};
}

BoundaryConfig boundary(const std::string& codec, double k, const std::string& scope = "batch") {
  BoundaryConfig config;
  config.codec.name = codec;
  config.codec.k = k;
  config.scope = scope;
  return config;
}

/// What comes out of a boundary between two workers with two examples each.
struct Crossed {
  Floats output, input_delta;
  netmodel::TrafficList traffic;
  BoundarySums sums;
};

Crossed cross(const std::string& backend, const SendingColumns& columns, const BoundaryConfig& config,
              const Floats& input, const Floats& delta) {
  const device::Device device = device_of(backend);
  Boundary layer(columns, 2, config);
  device::Buffer<float> x = on(device, input), y(device, std::ssize(input)), dy = on(device, delta),
                        dx(device, std::ssize(input));
  const Pass pass{.device = device,
                  .weights = {},
                  .workers = 2,
                  .batch = 2,
                  .training = true,
                  .boundaries = AtBoundaries::measured,
                  .exchange_step = 1};
  layer.reserve(pass);
  layer.forward(pass, x.data(), y.data());
  layer.backward(pass, x.data(), y.data(), dy.data(), dx.data());
  Crossed result{y.to_host(), dx.to_host(), {}, {}};
  const device::Shard shard = device::whole(device, 2);
  layer.end_step({shard, 0, 1, result.traffic, &result.sums});
  return result;
}

std::vector<Index> payloads(const netmodel::TrafficList& traffic) {
  std::vector<Index> bytes;
  for (const netmodel::Traffic& each : traffic) bytes.push_back(each.payload_bytes);
  return bytes;
}

//                     worker 0                     worker 1
//                     example 0    example 1       example 0    example 1
const Floats kInput = {1, 2, 3, -8, 5, 6, -7, 4, /**/ 9, 1, 2, 3, -4, 5, 6, 7};
const Floats kDelta = {1, 1, 1, 1, 2, 2, 2, 2, /**/ 3, 3, 3, 3, 4, 4, 4, 4};

}  // namespace

TEST_CASE("each sender's block is compressed alone, and what stays with a worker is not", "[sim][boundary]") {
  for (const std::string& backend : backends()) {
    INFO(backend);
    BoundaryConfig config = boundary("top-k", 1);
    config.backward = "mask";
    // Worker 0 receives columns 2 and 3, worker 1 columns 0 and 1; one of four values crosses.
    Crossed crossed = cross(backend, two_senders(), config, kInput, kDelta);
    REQUIRE(crossed.output == Floats{1, 2, 0, -8, 5, 6, 0, 0, 9, 0, 2, 3, 0, 0, 6, 7});
    REQUIRE(crossed.input_delta == Floats{1, 1, 0, 1, 2, 2, 0, 0, 3, 0, 3, 3, 0, 0, 4, 4});
    // A value of 4 bytes and an index of 2 bits go forward, the value alone back. In an all-to-all of two workers, half
    // of the payload is sent.
    REQUIRE(payloads(crossed.traffic) == std::vector<Index>{10, 8});
    REQUIRE(crossed.traffic[0].collective == netmodel::Collective::all_to_all);
    REQUIRE(crossed.traffic[0].direction == netmodel::Direction::up);
    REQUIRE(crossed.traffic[1].direction == netmodel::Direction::down);

    config.scope = "sample";
    crossed = cross(backend, two_senders(), config, kInput, kDelta);
    REQUIRE(crossed.output == Floats{1, 2, 0, -8, 5, 6, -7, 0, 9, 0, 2, 3, 0, 5, 6, 7});
    config.scope = "neuron";
    crossed = cross(backend, two_senders(), config, kInput, kDelta);
    REQUIRE(crossed.output == Floats{1, 2, 0, -8, 5, 6, -7, 0, 9, 0, 2, 3, 0, 5, 6, 7});
  }
}

TEST_CASE("the cut of a model sends everything from one group of workers to another", "[sim][boundary]") {
  BoundaryConfig config = boundary("top-k", 2);
  config.backward = "mask";
  const Crossed crossed = cross("cpu", SendingColumns::one(4), config, kInput, kDelta);
  REQUIRE(crossed.output == Floats{0, 0, 0, -8, 0, 0, -7, 0, 9, 0, 0, 0, 0, 0, 0, 7});
  // Of 8 values, 2 cross for each worker: 8 bytes of values and 2 indices of 3 bits.
  REQUIRE(payloads(crossed.traffic) == std::vector<Index>{18, 16});
  REQUIRE(crossed.traffic[0].group_size == 2);
}

TEST_CASE("directions of a boundary can be compressed separately", "[sim][boundary]") {
  BoundaryConfig config = boundary("top-k", 1);
  config.forward = "dense";
  config.backward = "mask";
  Crossed crossed = cross("cpu", two_senders(), config, kInput, kDelta);
  REQUIRE(crossed.output == kInput);
  REQUIRE(crossed.input_delta == Floats{1, 1, 0, 1, 2, 2, 0, 0, 3, 0, 3, 3, 0, 0, 4, 4});
  REQUIRE(payloads(crossed.traffic) == std::vector<Index>{32, 8});
  config.forward = "codec";
  config.backward = "dense";
  crossed = cross("cpu", two_senders(), config, kInput, kDelta);
  REQUIRE(crossed.output == Floats{1, 2, 0, -8, 5, 6, 0, 0, 9, 0, 2, 3, 0, 0, 6, 7});
  REQUIRE(crossed.input_delta == kDelta);
  REQUIRE(payloads(crossed.traffic) == std::vector<Index>{10, 32});
  config.backward = "codec";  // the gradients' own largest value: the first of equal ones
  crossed = cross("cpu", two_senders(), config, kInput, kDelta);
  REQUIRE(crossed.input_delta == Floats{1, 1, 0, 0, 2, 2, 2, 0, 0, 0, 3, 3, 4, 0, 4, 4});
  REQUIRE(payloads(crossed.traffic) == std::vector<Index>{10, 10});
}

TEST_CASE("a boundary measures how much of the squared norm crosses, leaving out what stays", "[sim][boundary]") {
  for (const std::string& backend : backends()) {
    INFO(backend);
    BoundaryConfig config = boundary("top-k", 1);
    config.backward = "mask";
    // -8 of 3, -8, -7, 4 goes to worker 0, and 9 of 9, 1, -4, 5 to worker 1; the gradients of both return.
    const Crossed crossed = cross(backend, two_senders(), config, kInput, kDelta);
    REQUIRE(crossed.sums.forward.whole == 9 + 64 + 49 + 16 + 81 + 1 + 16 + 25);
    REQUIRE(crossed.sums.forward.crossed == 64 + 81);
    REQUIRE(crossed.sums.backward.whole == 2 * 1 + 2 * 4 + 2 * 9 + 2 * 16);
    REQUIRE(crossed.sums.backward.crossed == 1 + 9);
    REQUIRE(crossed.sums.sent_share == 0.25);
  }
  BoundaryConfig config = boundary("top-k", 1);
  config.forward = "dense";
  Crossed crossed = cross("cpu", two_senders(), config, kInput, kDelta);
  REQUIRE(crossed.sums.forward.kept() == 1);
  REQUIRE(crossed.sums.backward.kept() == (4.0 + 16) / (2 + 8 + 18 + 32));  // by the gradients' own largest values
  crossed = cross("cpu", SendingColumns::everyone(2, 2), boundary("top-k", 1), kInput, kDelta);
  REQUIRE(crossed.sums.forward.crossed < crossed.sums.forward.whole);
  REQUIRE(crossed.sums.backward.whole == 0);  // nothing returns
}

TEST_CASE("zeros cost nothing at a boundary and lose nothing", "[sim][boundary]") {
  // Half of what crosses is 0, so that half of the elements hold everything; three quarters would, too.
  const Floats relu = {1, 2, 0, 8, 5, 6, 7, 0, /**/ 9, 0, 2, 3, 0, 5, 6, 7};
  const std::vector<Index> bytes = {2 * (2 + 8), 2 * 8};  // a count of 1 byte, an index byte and 2 values; 2 values
  for (const double share : {0.5, 0.75}) {
    const Crossed crossed = cross("cpu", two_senders(), boundary("dct-mp", share), relu, kDelta);
    REQUIRE(crossed.output == relu);
    REQUIRE(payloads(crossed.traffic) == bytes);
  }
}

TEST_CASE("a threshold that is kept goes through checkpoints and between batches", "[sim][boundary]") {
  const device::Device device = device_of("cpu");
  BoundaryConfig config = boundary("dct-mp", 1);
  config.codec.renew = 10;
  Boundary layer(two_senders(), 2, config);
  const auto outputs = [&](Index step, Floats input) {
    const device::Buffer<float> x = on(device, input);
    device::Buffer<float> y(device, std::ssize(input));
    layer.forward({.device = device, .weights = {}, .workers = 2, .batch = 2, .training = true, .exchange_step = step},
                  x.data(), y.data());
    return y.to_host();
  };
  outputs(1, kInput);  // thresholds 8 for worker 0, 9 for worker 1
  Floats larger = kInput;
  larger[6] = -9;  // two values are above worker 0's threshold now
  larger[8] = 8;   // none is above worker 1's
  REQUIRE(outputs(2, larger) == Floats{1, 2, 0, -8, 5, 6, -9, 0, 0, 0, 2, 3, 0, 0, 6, 7});
  REQUIRE(outputs(10, larger) == Floats{1, 2, 0, 0, 5, 6, -9, 0, 8, 0, 2, 3, 0, 0, 6, 7});
}

TEST_CASE("a masked backward pass is the exact gradient of the masked forward pass", "[sim][boundary]") {
  ModelConfig config = few_clicks_model(3);
  config.boundary = boundary("dct-mp", 0.5);
  HybridStep step(device_of("cpu"), config);
  // Worker w has examples 4w to 4w + 3, and table t belongs to worker t: of the 16 values of another worker's table,
  // the 8 largest cross.
  const oracle::Recommender model = step.recommender(step.old_tables());
  step.masks.assign(HybridStep::kExamples, Vector(12, 1.0));
  for (std::size_t worker = 0; worker < 3; ++worker) {
    for (std::size_t table = 0; table < 3; ++table) {
      if (table == worker) continue;
      std::vector<double> sizes;
      const auto value = [&](std::size_t e, std::size_t c) {
        return std::fabs(oracle::pooled(model, FewClicks::click(static_cast<Index>(4 * worker + e)))[4 * table + c]);
      };
      for (std::size_t i = 0; i < 16; ++i) sizes.push_back(value(i / 4, i % 4));
      std::sort(sizes.rbegin(), sizes.rend());
      REQUIRE(sizes[7] > 0);
      for (std::size_t i = 0; i < 16; ++i)
        step.masks[4 * worker + i / 4][4 * table + i % 4] = value(i / 4, i % 4) >= sizes[7] ? 1 : 0;
    }
  }
  REQUIRE(step.loss() == Approx(step.oracle_loss(
                                    [&] {
                                      const std::vector<float> w =
                                          make_model(device_of("cpu"), config, FewClicks())->initial_weights(7);
                                      return Vector(w.begin(), w.end());
                                    }(),
                                    step.old_tables()))
                             .epsilon(1e-6));
  REQUIRE(relative_error(step.table_gradient(), step.table_differences()) < 2e-5);
  REQUIRE(relative_error(step.dense_gradient(), step.dense_differences()) < 2e-5);
}

TEST_CASE("a boundary that drops nothing changes no bit", "[sim][boundary]") {
  for (const std::string& backend : backends()) {
    for (const std::string split : {"table", "row", "column"}) {
      INFO(backend << ", " << split);
      ModelConfig config = few_clicks_model(3);
      config.tables.split = split;
      const HybridStep dense(device_of(backend), config);
      config.boundary = boundary("dct-mp", 1000);
      const HybridStep masked(device_of(backend), config);
      REQUIRE(masked.loss() == dense.loss());
      REQUIRE(masked.tables_after() == dense.tables_after());
      REQUIRE(masked.dense_gradient() == dense.dense_gradient());
    }
  }
}

TEST_CASE("the traffic of a hybrid step is what a formula says", "[sim][boundary]") {
  // 12 examples, 3 tables of width 4, 3 workers: each of them sends 4 examples x 4 numbers x 4 bytes to each of the
  // others. Of the 38 row numbers that are used, a worker has 13 on average, rounded up.
  const HybridStep step(device_of("cpu"), few_clicks_model(3));
  Index used = 0;
  for (Index e = 0; e < HybridStep::kExamples; ++e) {
    const std::vector<std::int32_t> bags = FewClicks::click(e).bags;
    used += std::count_if(bags.begin(), bags.end(), [](std::int32_t row) { return row >= 0; });
  }
  REQUIRE(payloads(step.traffic()) == std::vector<Index>{4 * ceil_div(used, 3), 192, 192});
  REQUIRE(netmodel::sent_bytes(step.traffic()[1]).value == 128);
  const HybridStep alone(device_of("cpu"), few_clicks_model(1));
  REQUIRE(alone.traffic().empty());
}

TEST_CASE("codecs that do not fit a boundary are refused by name", "[sim][boundary]") {
  const auto refusal = [](const BoundaryConfig& config) -> std::string {
    try {
      Boundary(two_senders(), 2, config);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  REQUIRE(refusal(boundary("power-sgd", 1)).starts_with("this codec needs all workers' vectors"));
  REQUIRE(refusal(boundary("terngrad", 1)).starts_with("this codec needs all workers' vectors"));
  BoundaryConfig config = boundary("int4", 1);
  REQUIRE(refusal(config).empty());
  config.backward = "mask";
  REQUIRE(refusal(config).starts_with("this codec sends every element"));
  config = boundary("random-k", 0.1);
  config.backward = "mask";
  REQUIRE(refusal(config).empty());
  config.codec.scaled = true;
  REQUIRE(refusal(config).starts_with("with a mask, the gradients would not be scaled as the values were"));
  config = boundary("int8", 1);
  config.forward = config.backward = "dense";
  REQUIRE(refusal(config).starts_with("nothing would pass through the codec"));
  config = boundary("dct-mp", 0.1, "sample");
  REQUIRE(refusal(config).empty());
  config.codec.renew = 5;
  REQUIRE(refusal(config).starts_with("a sample's threshold cannot be kept"));
  REQUIRE(refusal(boundary("top-k", 0.1, "row")) == "unknown value (boundary.scope row); batch, sample, neuron");
}
