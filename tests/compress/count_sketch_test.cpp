// Sketched-SGD's exchange and the sketch of one vector.
#include "compress/channels/count_sketch.hpp"

#include <set>

#include "compress/channels/compressed_mean.hpp"
#include "tests/catch.hpp"
#include "tests/compress/rows.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

/// Small noise with a few large elements, the same ones for every worker.
std::vector<float> with_heavy(Index n, Index worker, const std::vector<std::size_t>& heavy) {
  std::vector<float> row = oracle::normals(n, 51, 0, worker);
  for (float& value : row) value *= 0.01f;
  for (const std::size_t i : heavy) row[i] += 10 + static_cast<float>(i % 3);
  return row;
}

}  // namespace

TEST_CASE("the places of a sketch are spread over its columns and signs") {
  const SketchShape shape{1, 5, 10};
  REQUIRE(shape.groups() == 2);
  std::vector<std::vector<int>> hits(5, std::vector<int>(20));  // by row, by column and sign
  for (Index i = 0; i < 2000; ++i) {
    for (const Index group : {0, 1}) {
      shape.each_place(group, i, [&](Index row, const SketchShape::Place& p) {
        REQUIRE((p.column >= 0 && p.column < 10));
        ++hits.at(static_cast<std::size_t>(row)).at(static_cast<std::size_t>(2 * p.column + (p.sign > 0 ? 1 : 0)));
      });
    }
  }
  for (const std::vector<int>& row : hits) {
    for (const int count : row) CHECK((count > 60 && count < 140));
  }
}

TEST_CASE("an estimate is the median of what an element finds in the rows") {
  const SketchShape shape{1, 3, 4};
  std::vector<float> table(12);
  const std::vector<float> found = {5, -2, 1};
  shape.each_place(0, 7, [&](Index row, const SketchShape::Place& p) {
    table[static_cast<std::size_t>(row * 4 + p.column)] = p.sign * found[static_cast<std::size_t>(row)];
  });
  CHECK(shape.estimate(FloatTable{table.data(), 4}, 7) == 1);
}

TEST_CASE("a sketched mean finds the heavy elements and takes their exact mean") {
  constexpr Index kSize = 2000, kWorkers = 3;
  const std::vector<std::size_t> heavy = {3, 500, 1999};
  for (const std::string& backend : backends()) {
    const device::Device device = device_of(backend);
    ExchangeConfig config;
    config.up = {.name = "count-sketch", .k = 3, .sketch_rows = 5, .sketch_columns = 200};
    CompressedMean exchange(device::whole(device, kWorkers), std::vector<Tensor>{{"a", 1000}, {"b", 1000}}, config);
    std::vector<float> flat;
    std::vector<double> mean(kSize);
    for (Index w = 0; w < kWorkers; ++w) {
      const std::vector<float> row = with_heavy(kSize, w, heavy);
      for (std::size_t i = 0; i < row.size(); ++i) mean[i] += static_cast<double>(row[i]) / kWorkers;
      flat.insert(flat.end(), row.begin(), row.end());
    }
    const auto rows = on(device, flat);
    const auto ones = on(device, std::vector<float>(kWorkers, 1.0f));
    exchange.begin(1);
    exchange.absorb({0, kWorkers}, {.rows = rows.data(), .stride = kSize, .factors = ones.data()});
    device::Buffer<float> result(device, kSize);
    netmodel::TrafficList traffic;
    exchange.exchange(result.data(), traffic);
    const std::vector<float> found = result.to_host();
    CAPTURE(backend);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool sent = std::set<std::size_t>(heavy.begin(), heavy.end()).contains(i);
      CHECK(found[i] == (sent ? static_cast<float>(mean[i]) : 0.0f));
      CHECK((exchange.worker_errors().to_host()[i] == 0) == sent);
    }
    REQUIRE(traffic.size() == 2);
    CHECK(traffic[0].payload_bytes == 4 * 5 * 200);
    CHECK(traffic[1].payload_bytes == 4 * 12);
    CHECK(traffic == exchange.plan());
  }
}

TEST_CASE("the sketch of one vector decodes to its heavy elements") {
  RowCodec codec({.name = "count-sketch", .k = 2, .sketch_rows = 5, .sketch_columns = 50}, 300);
  std::vector<float> row(300);
  row[10] = 4;
  row[299] = -7;
  const RowOutcome outcome = codec(row);
  CHECK(outcome.decoded == row);
  CHECK(oracle::norm(outcome.error) == 0);
  CHECK(outcome.bytes == 4 * 5 * 50);
}

TEST_CASE("count-sketch names the option that is out of range") {
  CHECK_THROWS_WITH(make_codec({.name = "count-sketch", .sketch_rows = 0}), Contains("codec.sketch-rows 0"));
  CHECK_THROWS_WITH(make_codec({.name = "count-sketch", .k = 1.5}), Contains("codec.k 1.5"));
  CHECK_THROWS_WITH(make_codec({.name = "count-sketch", .k = 0}), Contains("codec.k 0"));
}
