// Models that are split by fields (distributed equivalent substitution): layers and gradients against the oracle,
// training for any number of workers, bytes, refusals.
#include <cmath>
#include <numeric>

#include "device/base/error.hpp"
#include "sim/layers/bias_relu.hpp"
#include "sim/layers/boundary.hpp"
#include "sim/layers/linear.hpp"
#include "sim/layers/recommender/factorization.hpp"
#include "sim/layers/recommender/field_sums.hpp"
#include "sim/layers/recommender/sum_parts.hpp"
#include "sim/layers/sequence/embedding.hpp"
#include "sim/layers/sequential.hpp"
#include "tests/sim/des_step.hpp"
#include "tests/sim/models/layer_check.hpp"
#include "tests/sim/models/recommender_data.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;

namespace {

using oracle::Vector;

const std::vector<std::string> kModels = {"des-lr", "des-fm", "des-deepfm"};

/// Sums over five fields, of which the first part has three and the second two.
LayerCase sums_case(Index factors, Index hidden) {
  constexpr Index kFields = 5, kParts = 2;
  return {"sums of fields, " + std::to_string(factors) + " factors, " + std::to_string(hidden) + " hidden",
          [=](Parameters& parameters) {
            return std::make_unique<FieldSums>(
                parameters, "layer0",
                FieldSums::Shape{
                    .fields = kFields, .factors = factors, .hidden = hidden, .parts = kParts, .deviation = 0.5});
          },
          [=](const Vector& weights, const Vector& input, const ExamplePlace&) {
            const auto k = static_cast<std::size_t>(factors), h = static_cast<std::size_t>(hidden);
            const std::size_t columns = k == 0 ? 1 : k + 2 + h;
            Vector sums(kParts * columns);
            for (std::size_t t = 0; t < kFields; ++t) {
              double* part = sums.data() + (t < 3 ? 0 : columns);
              const double* field = input.data() + t * (1 + k);
              part[0] += field[0];
              for (std::size_t f = 0; f < k; ++f) {
                const double v = field[1 + f];
                part[1 + f] += v;
                part[1 + k] += v * v;
                for (std::size_t o = 0; o < h; ++o) part[k + 2 + o] += v * weights[(t * k + f) * h + o];
              }
            }
            return sums;
          }};
}

/// A whole model on two dense features and four fields of six rows, in three parts.
LayerCase logit_case(Index factors, Index hidden) {
  constexpr Index kFields = 4, kRows = 6, kParts = 3;
  std::vector<std::int32_t> tokens;
  for (std::int32_t i = 0; i < 6 * kFields; ++i) tokens.push_back(i * i % kRows);
  oracle::FieldModel model{.factors = factors, .hidden = hidden, .top = {1}, .rows = {kRows, kRows, kRows, kRows}};
  return {
      "logit, " + std::to_string(factors) + " factors, " + std::to_string(hidden) + " hidden",
      [=](Parameters& parameters) {
        const Index columns = FieldSums::columns(factors, hidden);
        std::vector<std::unique_ptr<Layer>> sums, deep;
        sums.push_back(std::make_unique<Embedding>(parameters, Embedding::Shape{kRows, kFields, 1 + factors, 0.5}));
        sums.push_back(
            std::make_unique<FieldSums>(parameters, "layer0", FieldSums::Shape{kFields, factors, hidden, kParts, 0.5}));
        sums.push_back(std::make_unique<SumParts>(kParts, columns));
        if (hidden > 0) {
          deep.push_back(std::make_unique<BiasRelu>(parameters, "layer0", hidden));
          deep.push_back(std::make_unique<Linear>(parameters, "layer1",
                                                  Linear::Shape{.inputs = hidden, .outputs = 1, .deviation = 0.5}));
        }
        auto dense = std::make_unique<Linear>(parameters, "dense", Linear::Shape{.inputs = 2, .outputs = 1});
        return std::make_unique<Factorization>(factors, std::move(dense), std::make_unique<Sequential>(std::move(sums)),
                                               hidden > 0 ? std::make_unique<Sequential>(std::move(deep)) : nullptr);
      },
      [=](const Vector& weights, const Vector& input, const ExamplePlace& place) {
        const auto table = weights.begin() + kRows * (1 + factors);
        Vector tables;  // all fields share one
        for (Index t = 0; t < kFields; ++t) tables.insert(tables.end(), weights.begin(), table);
        const auto ids = tokens.begin() + place.example * kFields;
        return Vector{oracle::logit(model, {table, weights.end()}, input,
                                    oracle::vectors_of(model, tables, {ids, ids + kFields}))};
      },
      tokens};
}

LayerCase relu_case() {
  return {"bias and ReLU", [](Parameters& parameters) { return std::make_unique<BiasRelu>(parameters, "layer", 3); },
          [](const Vector& weights, const Vector& x, const ExamplePlace&) {
            return Vector{std::max(0.0, x[0] + weights[0]), std::max(0.0, x[1] + weights[1]),
                          std::max(0.0, x[2] + weights[2])};
          }};
}

Index sent(const FieldSteps& steps) {
  return static_cast<Index>(std::llround(netmodel::sent_bytes(steps.traffic()).value));
}

std::string refusal(const std::function<void()>& make) {
  try {
    make();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the layers of models that are split by fields agree with the oracle", "[sim][des]") {
  check_layer(relu_case());
  for (const auto& [factors, hidden] : {std::pair<Index, Index>{0, 0}, {3, 0}, {2, 4}}) {
    check_layer(sums_case(factors, hidden));
    check_layer(logit_case(factors, hidden));
  }
}

TEST_CASE("gradients of models that are split by fields agree with the oracle", "[sim][des]") {
  for (const std::string& backend : backends()) {
    for (const std::string& name : kModels) {
      for (const Index workers : {1, 3}) {
        CAPTURE(backend, name, workers);
        FieldSteps steps(device_of(backend), field_model(name, workers));
        steps.spread();
        const std::vector<float> tables = steps.tables();
        const Vector w(steps.weights().begin(), steps.weights().end()), t(tables.begin(), tables.end());
        const double loss = steps.step(1, 1.0);
        CHECK(loss == Approx(steps.oracle_loss(1, w, t)).epsilon(1e-6));
        CHECK(relative_error(steps.gradient(), central_differences(w, [&](const Vector& v) {
                               return steps.oracle_loss(1, v, t);
                             })) < 2e-5);
        Vector change;
        const std::vector<float> after = steps.tables();
        for (std::size_t i = 0; i < after.size(); ++i)
          change.push_back(static_cast<double>(tables[i]) - static_cast<double>(after[i]));
        CHECK(relative_error(
                  change, central_differences(t, [&](const Vector& v) { return steps.oracle_loss(1, w, v); })) < 2e-5);
      }
    }
  }
}

TEST_CASE("any number of workers trains the same model", "[sim][des]") {
  for (const std::string& name : kModels) {
    for (const std::string optimizer : {"sgd", "adagrad"}) {
      for (const Index workers : {2, 3, 5}) {
        ModelConfig config = field_model(name, 1);
        config.tables.optimizer = optimizer;
        FieldSteps whole(device_of("cpu"), config);
        config.workers = workers;
        FieldSteps split(device_of("cpu"), config);
        whole.spread();
        split.spread();
        const std::vector<float> before = whole.tables();
        for (Index step = 1; step <= 10; ++step) {
          CAPTURE(name, optimizer, workers, step);
          const double loss = whole.step(step, 0.2);
          CHECK(split.step(step, 0.2) == Approx(loss).epsilon(1e-5));
          const std::vector<float> w = whole.weights(), t = whole.tables();
          CHECK(relative_error(split.weights(), {w.begin(), w.end()}) < 1e-5);
          CHECK(relative_error(split.tables(), {t.begin(), t.end()}) < 1e-5);
        }
        const std::vector<float> after = whole.tables();
        CHECK(relative_error(before, {after.begin(), after.end()}) > 0.05);
      }
    }
  }
}

TEST_CASE("a step of a model that is split by fields sends its sums and nothing else", "[sim][des]") {
  const std::vector<Index> numbers = {1, 3 + 2, 3 + 2 + 4};
  for (std::size_t m = 0; m < kModels.size(); ++m) {
    FieldSteps steps(device_of("cpu"), field_model(kModels[m], 3));
    for (Index step = 1; step <= 2; ++step) {
      CAPTURE(kModels[m], step);
      steps.step(step, 0.1);
      REQUIRE(steps.traffic().size() == 1);
      const netmodel::Traffic& record = steps.traffic().front();
      CHECK(record.collective == netmodel::Collective::all_reduce);
      CHECK(record.direction == netmodel::Direction::both);
      CHECK(record.type == netmodel::WireType::fp32);
      CHECK(record.group_size == 3);
      CHECK(record.payload_bytes == 4 * FieldSteps::kExamples * numbers[m]);
    }
    FieldSteps alone(device_of("cpu"), field_model(kModels[m], 1));
    alone.step(1, 0.1);
    CHECK(alone.traffic().empty());
  }
}

TEST_CASE("the bytes that DES saves are what a formula says", "[sim][des]") {
  // Instead of moving sums, workers could pull the rows of the batch and push their gradients: 2 x 4 (k + 1) bytes
  // each.
  const auto saving = [](const FieldSteps& steps, Index k) {
    return 1 - static_cast<double>(sent(steps)) / static_cast<double>(8 * (k + 1) * steps.distinct(1));
  };
  const auto formula = [](double batch, double workers, double k, double distinct) {
    return 1 - batch * (k + 2) * (workers - 1) / workers / ((k + 1) * distinct);
  };
  FieldSteps few(device_of("cpu"), field_model("des-fm", 3));
  few.step(1, 0.1);
  CHECK(saving(few, 3) == Approx(formula(30, 3, 3, static_cast<double>(few.distinct(1)))));

  // 100 fields without repeated rows, k = 8. The saving approaches 1 - (k + 2) / ((k + 1) 100) as workers are added.
  ModelConfig config = field_model("des-fm", 30);
  config.tables.width = 8;
  FieldSteps many(device_of("cpu"), config, std::vector<Index>(100, 7919));
  many.step(1, 0.1);
  const Index distinct = many.distinct(1);
  CHECK(distinct > 2700);  // some bags are empty
  CHECK(saving(many, 8) == Approx(formula(30, 30, 8, static_cast<double>(distinct))));
  CHECK(formula(30, 1e9, 8, 30 * 100) == Approx(1 - 10.0 / 900).epsilon(1e-8));
  CHECK(1 - 10.0 / 900 == Approx(0.989).margin(1e-3));
}

TEST_CASE("v starts at small random numbers, and w and the dense weights at 0", "[sim][des]") {
  FieldSteps steps(device_of("cpu"), field_model("des-fm", 2), {1000, 1000});
  const std::vector<float> tables = steps.tables();
  double squares = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (i % 4 == 0) REQUIRE(tables[i] == 0.0f);
    squares += static_cast<double>(tables[i]) * static_cast<double>(tables[i]);
  }
  CHECK(std::sqrt(squares / 6000) == Approx(0.01).epsilon(0.05));
  CHECK(steps.weights() == std::vector<float>(3));
}

TEST_CASE("sums can cross through a codec, and every worker gets the same", "[sim][des]") {
  const device::Device device = device_of("cpu");
  BoundaryConfig config;
  config.codec = {.name = "top-k", .k = 1};
  Boundary layer(SendingColumns::everyone(2, 2), 2, config);
  // Two workers with two examples each; both send [2 examples][2 columns] of each worker's examples.
  const std::vector<float> input = {1, 2, 3, -8, 5, 6, -7, 4, /**/ 9, 1, 2, 3, -4, 5, 6, 7};
  const device::Buffer<float> x = on(device, input);
  device::Buffer<float> y(device, 16), dx(device, 16), dy = on(device, std::vector<float>(16, 1.0f));
  const Pass pass{.device = device, .weights = {}, .workers = 2, .batch = 2, .training = true, .exchange_step = 1};
  layer.forward(pass, x.data(), y.data());
  layer.backward(pass, x.data(), y.data(), dy.data(), dx.data());
  CHECK(y.to_host() == std::vector<float>{0, 0, 0, -8, 0, 6, 0, 0, 9, 0, 0, 0, 0, 0, 0, 7});
  CHECK(dx.to_host() == std::vector<float>(16, 1.0f));
  netmodel::TrafficList traffic = {{.group_size = 2, .payload_bytes = 100}};
  const device::Shard shard = device::whole(device, 2);
  layer.end_step({shard, 0, 1, traffic});
  REQUIRE(traffic.size() == 1);
  CHECK(traffic[0].collective == netmodel::Collective::all_gather);
  // A worker sends two blocks, each with a value of 4 bytes and an index of 2 bits.
  CHECK(traffic[0].payload_bytes == 10);
}

TEST_CASE("DES with a codec that drops nothing changes no bit, and one that drops much still trains", "[sim][des]") {
  for (const std::string& name : kModels) {
    ModelConfig config = field_model(name, 3);
    FieldSteps dense(device_of("cpu"), config);
    config.boundary.codec = {.name = "dct-mp", .k = 1000, .renew = 1};
    FieldSteps all(device_of("cpu"), config);
    config.boundary.codec = {.name = "int8"};
    FieldSteps few(device_of("cpu"), config);
    double first = 0, last = 0;
    for (Index step = 1; step <= 10; ++step) {
      CAPTURE(name, step);
      CHECK(dense.step(1, 0.5) == all.step(1, 0.5));
      last = few.step(1, 0.5);
      if (step == 1) first = last;
      CHECK(dense.tables() == all.tables());
      CHECK(dense.weights() == all.weights());
    }
    CHECK(last < 0.95 * first);
    CHECK(sent(few) < sent(dense));
  }
}

TEST_CASE("what DES cannot do is refused by name", "[sim][des]") {
  const FieldClicks data;
  const auto model = [&](const ModelConfig& config, const DataSource& source) {
    return refusal([&] { make_model(device_of("cpu"), config, source); });
  };
  ModelConfig config = field_model("des-fm", 6);
  CHECK(model(config, data) ==
        "there are more workers than tables (workers 6, 5 tables); use fewer workers or data with more tables");
  config.workers = 5;
  CHECK(model(config, data).empty());
  CHECK(
      model(config, FewClicks()) ==
      "each field of this model has one row per example (data few-clicks, model des-fm); use data whose bags have one "
      "row, e.g. --data clicks without --data.bag, or --model dlrm-nano");
  config.tables.split = "row";
  CHECK(model(config, data) ==
        "the workers of this model own whole tables (tables.split row, model des-fm); leave it out, or use --model "
        "dlrm-nano");
  config.tables = {.width = 3, .split = "table", .capacity = 100};
  config.workers = 1;
  CHECK(model(config, data) ==
        "worker 0 would own 864 bytes of tables (tables.split table, tables.capacity 100); use more workers");
}

TEST_CASE("optimizers that change the exchange of gradients are refused for DES", "[sim][des]") {
  RunConfig config;
  config.model = field_model("des-lr", 1);
  const auto said = [&] { return refusal([&] { completed(config); }); };
  for (const std::string name : {"sgd", "momentum-sgd", "adam", "lamb"}) {
    config.optimizer.name = name;
    CHECK(said().empty());
  }
  for (const std::string name : {"onebit-adam", "ef-sgd", "cada1", "local-sgd", "zeroone-adam-32"}) {
    config.optimizer.name = name;
    CHECK(said() ==
          "the workers of this model exchange no gradients that an optimizer could compress or leave out "
          "(optimizer " +
              name +
              ", model des-lr); sgd, momentum-sgd, adam or lamb; --boundary.codec "
              "compresses what they exchange");
  }
  config.optimizer.name = "adam";
  config.optimizer.clip = 1;
  CHECK(said() ==
        "clipping needs the norm of all gradients, but each worker has only a part of them (optimizer.clip, model "
        "des-lr); leave it out");
}

namespace {

/// What a run leaves: its state, losses and traffic.
struct Left {
  State state;
  std::vector<double> losses;
  std::vector<netmodel::TrafficList> traffic;
};

Left trained(RunConfig config, const std::string& devices, int threads, Index group) {
  config.threads = threads;
  config.worker_group = group;
  VirtualCluster cluster(
      config, {std::make_shared<FieldClicks>(std::vector<Index>(11, 13)), device::parse_devices(devices, threads)});
  Left left;
  while (cluster.step() < cluster.steps()) {
    const StepOutcome outcome = cluster.advance();
    left.losses.push_back(outcome.loss);
    left.traffic.push_back(outcome.report.traffic);
  }
  left.losses.push_back(cluster.evaluate().loss);
  left.losses.push_back(cluster.evaluate(true).loss);
  left.state = state_of(cluster);
  return left;
}

}  // namespace

TEST_CASE("DES has the same bits for any threads, devices and groups", "[sim][des]") {
  for (const std::string& name : kModels) {
    for (const std::string codec : {"fp32", "dct-mp", "int8"}) {
      RunConfig config;
      config.model = field_model(name, 1);
      config.model.boundary.codec.name = codec;
      config.model.boundary.codec.k = 0.3;
      if (codec == "int8") config.model.precision = device::Precision::bf16;
      config.model.tables.optimizer = codec == "fp32" ? "sgd" : "adagrad";
      config.optimizer.name = "adam";
      config.optimizer.lr = 0.02;
      config.workers = 10;
      config.batch = 4;
      config.accumulation = 2;
      config.steps = 4;
      const Left expected = trained(config, "cpu", 1, 0);
      const Index numbers = name == "des-lr" ? 1 : name == "des-fm" ? 5 : 9;
      REQUIRE(expected.traffic.back().size() == 1);
      if (codec == "fp32") CHECK(expected.traffic.back().front().payload_bytes == 4 * 10 * 4 * 2 * numbers);
      for (const auto& [devices, threads, group] : {std::tuple<std::string, int, Index>{"cpu", 2, 3},
                                                    {"cpu:2", 1, 0},
                                                    {"cpu:2", 2, 3},
                                                    {"debug", 1, 0},
                                                    {"debug:2", 1, 4}}) {
        CAPTURE(name, codec, devices, threads, group);
        const Left left = trained(config, devices, threads, group);
        CHECK(different(left.state, expected.state) == std::vector<std::string>{});
        CHECK(left.losses == expected.losses);
        CHECK(left.traffic == expected.traffic);
      }
    }
  }
}
