#include "compress/codecs/sparse/top_k.hpp"

#include "compress/channels/compressed_mean.hpp"
#include "tests/catch.hpp"
#include "tests/compress/rows.hpp"
#include "tests/oracle/sparse.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::tests;

namespace {

std::size_t sent(const std::vector<float>& decoded) {
  return static_cast<std::size_t>(std::count_if(decoded.begin(), decoded.end(), [](float v) { return v != 0; }));
}

float smallest_sent(const std::vector<float>& decoded) {
  float least = std::numeric_limits<float>::infinity();
  for (const float v : decoded) least = v != 0 ? std::min(least, std::fabs(v)) : least;
  return least;
}

float largest_magnitude(const std::vector<float>& values) {
  float most = 0;
  for (const float v : values) most = std::max(most, std::fabs(v));
  return most;
}

}  // namespace

TEST_CASE("top-k sends the largest elements and leaves the others") {
  RowCodec codec({.name = "top-k", .k = 2}, 5);
  const RowOutcome outcome = codec({1, -4, 2, 0, 3});
  CHECK(outcome.decoded == std::vector<float>{0, -4, 0, 0, 3});
  CHECK(outcome.error == std::vector<float>{1, 0, 2, 0, 0});
  CHECK(outcome.bytes == 9);
}

TEST_CASE("of equal magnitudes top-k sends the first") {
  RowCodec codec({.name = "top-k", .k = 3}, 6);
  CHECK(codec({1, -2, 2, -1, -2, 2}).decoded == std::vector<float>{0, -2, 2, 0, -2, 0});
  CHECK(codec({0, -0.0f, 0, 7, 0, 0}).decoded == std::vector<float>{0, 0, 0, 7, 0, 0});
}

TEST_CASE("top-k finds what sorting finds, on every backend and in both packings") {
  for (const std::string& backend : backends()) {
    for (const Index n : {Index{1}, Index{33}, Index{1000}, Index{4097}}) {
      for (const double k : {1.0, 3.0, 1e6, 0.001, 0.07, 0.5, 0.999}) {
        const auto count = static_cast<std::size_t>(SentCount{k < 1 ? k : 0, k < 1 ? 0 : static_cast<Index>(k)}.of(n));
        for (const std::string packing : {"none", "delta"}) {
          RowCodec codec({.name = "top-k", .k = k, .packing = packing}, n, backend);
          for (const NamedRow& row : kinds_of_rows(n)) {
            const RowOutcome outcome = codec(row.values);
            const auto indices = oracle::largest(row.values, count);
            CAPTURE(backend, n, k, packing, row.name);
            CHECK(outcome.decoded == oracle::only(row.values, indices));
            const auto read = oracle::read_sparse(codec.body(), row.values.size(), false, count, packing == "delta");
            CHECK(read.indices == indices);
            CHECK(static_cast<Index>(read.bytes) == outcome.bytes);
          }
        }
      }
    }
  }
}

TEST_CASE("magnitudes that differ in any byte are told apart, down to the smallest floats") {
  const std::vector<float> row = {1.0f, 0x1.000002p0f, 0x1.0002p0f, 0x1.02p0f, 0x1p-149f, 0x1p-148f, 0x1.fffffep127f};
  for (Index k = 1; k <= 7; ++k) {
    RowCodec codec({.name = "top-k", .k = static_cast<double>(k)}, 7);
    CHECK(codec(row).decoded == oracle::only(row, oracle::largest(row, static_cast<std::size_t>(k))));
  }
}

TEST_CASE("a share is rounded up, its product's own rounding apart, and a number is at most all") {
  CHECK(SentCount{0.07, 0}.of(100) == 7);  // 0.07 * 100 is above 7 in double
  CHECK(SentCount{0.01, 0}.of(4200) == 42);
  CHECK(SentCount{0.01, 0}.of(4201) == 43);
  CHECK(SentCount{0.01, 0}.of(10) == 1);
  CHECK(SentCount{1e-300, 0}.of(10) == 1);
  CHECK(SentCount{1.0, 0}.of(10) == 10);
  CHECK(SentCount{0, 12}.of(10) == 10);
  CHECK(SentCount{0, 1}.of(10) == 1);
  CHECK(SentCount{0.5, 0}.of(0) == 0);
  CHECK(SentCount{0, 5}.of(0) == 0);
}

TEST_CASE("a density takes the place of k") {
  for (const std::string name : {"top-k", "top-k-sampled", "random-k", "dct"}) {
    RowCodec few({.name = name, .k = 3}, 1000), many({.name = name, .k = 0.5}, 1000);
    few.codec().set_density(0.5);
    const Segment segment{.real = 1000, .active = 1000};
    CAPTURE(name);
    CHECK(few.codec().body_bytes(segment) == many.codec().body_bytes(segment));
    CHECK(few.codec().delta(1000) == many.codec().delta(1000));
  }
  RowCodec codec({.name = "dct", .k = 3}, 1000);
  codec.codec().set_density(0.5);
  CHECK(sent(codec(oracle::normals(1000, 3)).decoded) == 500);
}

TEST_CASE("top-k's bound is reached where all magnitudes are equal") {
  RowCodec codec({.name = "top-k", .k = 25}, 100);
  const std::vector<float> row(100, -2.0f);
  CHECK(codec.codec().delta(100) == 0.25);
  CHECK(square(codec(row).error) == Approx(0.75 * square(row)));
}

// The count that a sample's element of rank r lets through is r (n + 1) / (m + 1) on average: 10 * 1001 / 101.
TEST_CASE("sampled top-k sends k elements on average") {
  RowCodec codec({.name = "top-k-sampled", .k = 100, .sample = 0.1}, 1000);
  const std::vector<float> row = oracle::normals(1000, 7);
  double mean = 0;
  std::size_t least = 1000, most = 0;
  for (Index step = 1; step <= 400; ++step) {
    const std::size_t count = sent(codec(row, step).decoded);
    mean += static_cast<double>(count) / 400;
    least = std::min(least, count);
    most = std::max(most, count);
  }
  CHECK(mean == Approx(99.1).margin(6));
  CHECK(least < 80);
  CHECK(most > 120);
  CHECK(most <= 200);
}

TEST_CASE("sampled top-k sends the largest elements, at most twice k of them") {
  for (const std::string& backend : backends()) {
    for (const double k : {1.0, 5.0, 0.05}) {
      RowCodec codec({.name = "top-k-sampled", .k = k, .sample = 0.05}, 1000, backend);
      const std::size_t count = k < 1 ? 50 : static_cast<std::size_t>(k);
      for (const NamedRow& row : kinds_of_rows(1000)) {
        for (Index step = 1; step <= 5; ++step) {
          const RowOutcome outcome = codec(row.values, step);
          CAPTURE(backend, k, row.name, step);
          CHECK(sent(outcome.decoded) <= 2 * count);
          CHECK(smallest_sent(outcome.decoded) >= largest_magnitude(outcome.error));
          if (oracle::norm(row.values) > 0) CHECK(sent(outcome.decoded) >= 1);
          const auto read = oracle::read_sparse(codec.body(), 1000, true, 0, false);
          CHECK(read.indices.size() == sent(outcome.decoded));
          CHECK(static_cast<Index>(read.bytes) == outcome.bytes);
        }
      }
    }
  }
}

TEST_CASE("sampled top-k selects exactly where too many reach the threshold, and where all are the sample") {
  const std::vector<float> equal(1000, -2.0f);
  RowCodec many({.name = "top-k-sampled", .k = 20}, 1000);
  CHECK(many(equal).decoded == oracle::only(equal, oracle::largest(equal, 20)));
  const std::vector<float> row = oracle::normals(1000, 9);
  RowCodec whole({.name = "top-k-sampled", .k = 20, .sample = 1}, 1000);
  CHECK(whole(row).decoded == oracle::only(row, oracle::largest(row, 20)));
}

TEST_CASE("sampled top-k asks for no more than its sample has where nearly all elements are to be sent") {
  const std::vector<std::pair<Index, double>> cases = {{3, 0.7}, {10, 10}, {64, 1000}, {100, 0.9}, {100, 0.99}};
  for (const std::string& backend : backends()) {
    for (const auto& [n, k] : cases) {
      CAPTURE(backend, n, k);
      const std::vector<float> row = oracle::normals(n, 4);
      RowCodec codec({.name = "top-k-sampled", .k = k}, n, backend);
      const std::vector<float> decoded = codec(row).decoded;
      const auto sent = n - std::count(decoded.begin(), decoded.end(), 0.0f);
      CHECK(sent > 0);
      CHECK(decoded == oracle::only(row, oracle::largest(row, static_cast<std::size_t>(sent))));
    }
  }
}

TEST_CASE("sparse codecs are gathered, or meet at servers where a codec for the way down is named") {
  const device::Device device = device::Device::cpu(1);
  const std::vector<Tensor> tensors = {{"w", 1000}};
  ExchangeConfig config;
  config.up = {.name = "top-k", .k = 10};
  const netmodel::TrafficList gathered = CompressedMean(device::whole(device, 4), tensors, config).plan();
  REQUIRE(gathered.size() == 1);
  CHECK(gathered[0].collective == netmodel::Collective::all_gather);
  CHECK(gathered[0].payload_bytes == 10 * 4 + 13);  // ten indices of 10 bits
  config.down = "fp32";
  const netmodel::TrafficList served = CompressedMean(device::whole(device, 4), tensors, config).plan();
  REQUIRE(served.size() == 2);
  CHECK(served[0].collective == netmodel::Collective::all_to_all);
  CHECK(served[0].payload_bytes == 4 * (10 * 4 + 10));  // ten of each chunk of 256, or 232: 8 bits
  CHECK(served[1].collective == netmodel::Collective::all_gather);
}

TEST_CASE("options of sparse codecs out of range are refused by name") {
  const auto refusal = [](const CodecConfig& config) -> std::string {
    try {
      make_codec(config);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  const std::string k = "; a share in (0, 1), or a whole number of elements, at least 1";
  for (const std::string name : {"top-k", "top-k-sampled", "random-k", "dct"}) {
    CHECK(refusal({.name = name, .k = 0}) == "codec option out of range (codec.k 0)" + k);
    CHECK(refusal({.name = name, .k = -1}) == "codec option out of range (codec.k -1)" + k);
    CHECK(refusal({.name = name, .k = 2.5}) == "codec option out of range (codec.k 2.5)" + k);
    CHECK(refusal({.name = name, .k = std::nan("")}) == "codec option out of range (codec.k nan)" + k);
    CHECK(refusal({.name = name, .k = INFINITY}) == "codec option out of range (codec.k inf)" + k);
  }
  for (const double sample : {0.0, -0.5, 1.01, std::nan("")}) {
    CHECK(refusal({.name = "top-k-sampled", .sample = sample}).find("codec.sample") != std::string::npos);
  }
  CHECK(refusal({.name = "dct", .renew = 0}) == "codec option out of range (codec.renew 0); at least 1 step");
  for (const double threshold : {-1.0, 1e39, std::nan("")}) {
    CHECK(refusal({.name = "threshold", .threshold = threshold}).find("codec.threshold") != std::string::npos);
  }
  for (const std::string name : {"top-k", "top-k-sampled", "threshold", "dct"}) {
    CHECK(refusal({.name = name, .packing = "elias"}) ==
          "codec option out of range (codec.packing elias); none or delta");
  }
}
