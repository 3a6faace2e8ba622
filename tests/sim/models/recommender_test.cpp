// Recommendation models compared with the oracle: layers, gradients of tables, their optimizers, how they are split.
#include <algorithm>
#include <cmath>
#include <map>

#include "device/base/error.hpp"
#include "sim/layers/binary_logits.hpp"
#include "sim/layers/linear.hpp"
#include "sim/layers/recommender/interaction.hpp"
#include "sim/layers/recommender/row_lists.hpp"
#include "sim/layers/recommender/sum_parts.hpp"
#include "sim/layers/recommender/table_split.hpp"
#include "sim/layers/sequence/embedding.hpp"
#include "tests/sim/models/layer_check.hpp"
#include "tests/sim/models/recommender_data.hpp"
#include "tests/sim/models/recommender_step.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;

namespace {

using oracle::Vector;

/// An interaction of three dense features with two embeddings of width 4.
LayerCase interaction_case(Interaction::Kind kind) {
  constexpr Index kWidth = 4, kInputs = 3, kTables = 2, kRows = 5;
  std::vector<std::int32_t> tokens = {0, 3, 2, 2, 4, 1, 0, 0, 3, 1, 1, 2};
  return {kind == Interaction::Kind::dot ? "dot" : "cat",
          [=](Parameters& parameters) {
            auto embedding = std::make_unique<Embedding>(parameters, Embedding::Shape{kRows, kTables, kWidth, 0.5});
            auto bottom = std::make_unique<Linear>(parameters, "bottom",
                                                   Linear::Shape{.inputs = kInputs,
                                                                 .outputs = kWidth,
                                                                 .activation = Activation::relu,
                                                                 .deviation = 0.5,
                                                                 .bias_deviation = 0.5});
            return std::make_unique<Interaction>(kind, std::move(bottom), std::move(embedding));
          },
          [=](const Vector& weights, const Vector& input, const ExamplePlace& place) {
            std::size_t at = kRows * kWidth;
            const Vector z = oracle::layers(input, {kInputs, kWidth}, false, weights, at);
            Vector embeddings;
            for (Index t = 0; t < kTables; ++t) {
              const Index row = tokens[static_cast<std::size_t>(place.example * kTables + t)];
              for (Index c = 0; c < kWidth; ++c)
                embeddings.push_back(weights[static_cast<std::size_t>(row * kWidth + c)]);
            }
            return oracle::interaction(z, embeddings, kind == Interaction::Kind::dot);
          },
          tokens};
}

LayerCase logits_case() {
  return {"binary logits", [](Parameters&) { return std::make_unique<BinaryLogits>(); },
          [](const Vector&, const Vector& input, const ExamplePlace&) {
            return Vector{0, input[0]};
          }};
}

LayerCase sum_case() {
  return {"sum of parts", [](Parameters&) { return std::make_unique<SumParts>(3, 2); },
          [](const Vector&, const Vector& x, const ExamplePlace&) {
            return Vector{x[0] + x[2] + x[4], x[1] + x[3] + x[5]};
          }};
}

}  // namespace

TEST_CASE("the layers of recommendation models agree with the oracle", "[sim][recommender]") {
  check_layer(interaction_case(Interaction::Kind::dot));
  check_layer(interaction_case(Interaction::Kind::cat));
  check_layer(logits_case());
  check_layer(sum_case());
}

TEST_CASE("a recommendation model's gradients agree with the oracle, however its tables are split",
          "[sim][recommender]") {
  for (const std::string& backend : backends()) {
    for (const std::string interaction : {"dot", "cat"}) {
      for (const std::string split : {"table", "row", "column"}) {
        INFO(backend << ", " << interaction << ", " << split);
        ModelConfig config = few_clicks_model(3);
        config.interaction = interaction;
        config.tables.split = split;
        const HybridStep step(device_of(backend), config);
        const Vector dense = step.dense_differences(), tables = step.table_differences();
        REQUIRE(relative_error(step.dense_gradient(), dense) < 2e-5);
        REQUIRE(relative_error(step.table_gradient(), tables) < 2e-5);
        const HybridStep alone(device_of(backend), [&] {
          ModelConfig one = config;
          one.workers = 1;
          return one;
        }());
        REQUIRE(relative_error(step.table_gradient(), alone.table_gradient()) < 1e-6);
        REQUIRE(relative_error(step.dense_gradient(), alone.dense_gradient()) < 1e-6);
      }
    }
  }
}

TEST_CASE("row-wise Adagrad divides by the root of the mean squares of a row", "[sim][recommender]") {
  ModelConfig config = few_clicks_model(2);
  const HybridStep sgd(device_of("cpu"), config);
  config.tables.optimizer = "adagrad";
  config.tables.lr = 0.5;
  config.tables.eps = 1e-3;
  const HybridStep adagrad(device_of("cpu"), config);
  const std::vector<double> gradient = sgd.table_gradient();
  const Index width = config.tables.width;
  for (std::size_t row = 0; row < gradient.size(); row += static_cast<std::size_t>(width)) {
    double squares = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(width); ++c) squares += gradient[row + c] * gradient[row + c];
    const double root = std::sqrt(squares / static_cast<double>(width));
    for (std::size_t c = 0; c < static_cast<std::size_t>(width); ++c) {
      const double wanted = 0.5 * gradient[row + c] / (root + 1e-3);
      REQUIRE(adagrad.table_gradient()[row + c] == Approx(wanted).margin(2e-6));
    }
  }
}

TEST_CASE("touched rows are listed once, in order, with their examples in order", "[sim][recommender]") {
  const std::vector<TablePlace> tables = {{0, 10'000'000, 0, 2}, {10'000'000, 3, 2, 1}};
  const std::vector<std::int32_t> bags = {9'999'999, 5, 2, kNoRow, 4'194'305, 0, 5, 5, 2};
  RowLists lists;
  lists.list(bags, tables, 1, 8);
  const auto row = [&](std::size_t i) {
    const TouchedRow& r = lists.rows[i];
    return std::vector<Index>{r.row, r.column, r.first, r.count};
  };
  REQUIRE(lists.rows.size() == 5);
  REQUIRE(row(0) == std::vector<Index>{5, 0, 0, 3});
  REQUIRE(row(1) == std::vector<Index>{4'194'305, 0, 3, 1});
  REQUIRE(row(2) == std::vector<Index>{9'999'999, 0, 4, 1});
  REQUIRE(row(3) == std::vector<Index>{10'000'000, 8, 5, 1});
  REQUIRE(row(4) == std::vector<Index>{10'000'002, 8, 6, 2});
  REQUIRE(lists.examples == std::vector<std::int32_t>{0, 2, 2, 1, 0, 1, 0, 2});
}

TEST_CASE("the first T mod N workers own one table more", "[sim][recommender]") {
  const SendingColumns columns = senders_of(TableSplit::table, 8, 26, 2);
  std::map<Index, Index> widths;
  for (const SendingColumn& column : columns.columns) ++widths[column.sender];
  REQUIRE(widths == std::map<Index, Index>{{0, 8}, {1, 8}, {2, 6}, {3, 6}, {4, 6}, {5, 6}, {6, 6}, {7, 6}});
  const std::vector<BagTable> tables = {{10, 1}, {7, 1}, {5, 1}};
  REQUIRE(elements_owned(TableSplit::table, 2, tables, 3) == std::vector<Index>{51, 15});
  REQUIRE(elements_owned(TableSplit::row, 2, tables, 3) == std::vector<Index>{36, 30});
  REQUIRE(elements_owned(TableSplit::column, 2, tables, 3) == std::vector<Index>{44, 22});
}

TEST_CASE("a row beyond its table is refused with example, row and table", "[sim][recommender]") {
  const FewClicks data(6);
  Batch batch;
  REQUIRE_NOTHROW(data.read(DataSource::Split::train, 0, 1, batch));
  // The first example whose last bag is row 6: (7 n + 12 + n n / 5) mod 7 = 6 for n = 3.
  const std::string refusal =
      "an example refers to a row that its table does not have (few-clicks, example 3: row 6 of table 3); the table "
      "has "
      "6 rows; the ids of the source must be smaller";
  REQUIRE_THROWS_WITH(data.read(DataSource::Split::train, 0, 64, batch), refusal);
  REQUIRE_THROWS_AS(data.sample(0, {0, 4}, 64, batch), Error);
}

TEST_CASE("splits that are impossible are refused by name", "[sim][recommender]") {
  const FewClicks data;
  const auto refusal = [&](const ModelConfig& config) -> std::string {
    try {
      make_model(device_of("cpu"), config, data);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  ModelConfig config = few_clicks_model(4);
  REQUIRE(
      refusal(config) ==
      "there are more workers than tables (workers 4, 3 tables); use fewer workers, or --tables.split row or column");
  config.tables.split = "column";
  REQUIRE(refusal(config).empty());
  config.workers = 5;
  REQUIRE(refusal(config) ==
          "there are more workers than columns in a table (workers 5, 4 columns in a table); use fewer workers, or "
          "--tables.split row");
  config.workers = 2;
  config.tables = {.width = 4, .split = "table", .capacity = 100};
  REQUIRE(refusal(config) ==
          "worker 0 would own 144 bytes of tables (tables.split table, tables.capacity 100); use more workers, or "
          "--tables.split row, which divides every table evenly");
  config.tables.capacity = 144;
  REQUIRE(refusal(config).empty());
}
