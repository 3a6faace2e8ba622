// Codecs that round at random: draw by draw against oracles, and their means over many keys.
#include "compress/codecs/bytes.hpp"
#include "tests/catch.hpp"
#include "tests/compress/exchange.hpp"
#include "tests/compress/rows.hpp"
#include "tests/oracle/quantizers.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::tests;

namespace {

struct Case {
  CodecConfig config;
  oracle::Coins coins;
};

/// Returns the magnitude at which values are clipped: `clip` root mean squares.
double limit_of(const std::vector<float>& row, double clip) {
  return clip * oracle::norm(row) / std::sqrt(static_cast<double>(row.size()));
}

double largest_of(const std::vector<float>& row) {
  return std::fabs(static_cast<double>(
      *std::max_element(row.begin(), row.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); })));
}

/// RowCodec shares the largest magnitude without clipping it.
std::vector<Case> cases(const std::vector<float>& row) {
  const double most = largest_of(row);
  return {{{.name = "qsgd", .levels = 4}, oracle::qsgd(row, 256, 4, false)},
          {{.name = "qsgd", .levels = 100, .block = 0, .norm = "max"}, oracle::qsgd(row, 0, 100, true)},
          {{.name = "qsgd", .levels = 1, .block = 7, .packing = "elias"}, oracle::qsgd(row, 7, 1, false)},
          {{.name = "terngrad", .clip = 0}, oracle::terngrad(row, most, most)},
          {{.name = "terngrad", .clip = 1.5}, oracle::terngrad(row, most, limit_of(row, 1.5))},
          {{.name = "natural"}, oracle::natural(row)}};
}

double uniform(Index step, Index element) {
  return static_cast<double>(device::uniform({5, device::Purpose::worker_codec}, {step, 0, element}));
}

}  // namespace

TEST_CASE("random rounding throws the coins that the paper names, on every backend") {
  for (const NamedRow& row : kinds_of_rows(321)) {
    if (largest_of(row.values) == 0) continue;
    for (const Case& one : cases(row.values)) {
      for (const std::string& backend : backends()) {
        RowCodec codec(one.config, 321, backend);
        const RowOutcome outcome = codec(row.values, 9);
        CAPTURE(one.config.name, one.config.levels, one.config.clip, row.name, backend);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < row.values.size(); ++i) {
          const double thrown = one.coins[i].thrown(uniform(9, static_cast<Index>(i)));
          const double size = std::fabs(one.coins[i].other);
          if (!(std::fabs(static_cast<double>(outcome.decoded[i]) - thrown) <= 1e-6 * size)) ++wrong;
          CHECK(outcome.error[i] == row.values[i] - outcome.decoded[i]);
        }
        CHECK(wrong == 0);
      }
    }
  }
}

// Each mean must lie within 5 standard errors; of correct means, 1 in 1.7 million would not. A coin with a small chance
// has a skewed distribution, so half of one throw is allowed in addition.
TEST_CASE("the mean over many keys is the row, or the clipped row") {
  constexpr Index kKeys = 4000;
  const std::vector<float> row = oracle::normals(40, 51);
  for (const Case& one : cases(row)) {
    RowCodec codec(one.config, 40);
    oracle::Vector mean(row.size());
    for (Index step = 1; step <= kKeys; ++step) {
      const std::vector<float> decoded = codec(row, step).decoded;
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += static_cast<double>(decoded[i]) / kKeys;
    }
    const double limit = one.config.name == "terngrad" && one.config.clip > 0 ? limit_of(row, one.config.clip) : 1e9;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const auto value = static_cast<double>(row[i]);
      const oracle::Coin& coin = one.coins[i];
      const double band = 5 * std::sqrt(coin.variance() / kKeys) + 0.5 * std::fabs(coin.other - coin.usual) / kKeys;
      CAPTURE(one.config.name, one.config.levels, one.config.clip, i, band);
      CHECK(std::fabs(mean[i] - std::copysign(std::min(std::fabs(value), limit), value)) <= band);
    }
  }
}

TEST_CASE("qsgd's bounds hold for the rows that are worst, and are reached") {
  constexpr Index n = 401;
  constexpr double s = 4;
  const double others = (n - 1) / (s * s);
  for (const std::string norm : {"l2", "max"}) {
    const double level = norm == "max" ? s / (1 + std::sqrt(1 + others)) / s : 0.2;
    std::vector<float> row(n, static_cast<float>(level / s));
    if (norm == "max") row[7] = 1;
    RowCodec codec({.name = "qsgd", .levels = 4, .block = 0, .norm = norm}, n);
    double variance = 0;
    for (const oracle::Coin& coin : oracle::qsgd(row, 0, 4, norm == "max")) variance += coin.variance();
    const double omega = *codec.codec().omega(n);
    CAPTURE(norm, omega);
    CHECK(variance / square(row) <= omega);
    CHECK(variance / square(row) > (norm == "max" ? 0.9999 : 0.75) * omega);
  }
}

TEST_CASE("qsgd packs signs and levels in the fewest bits") {
  for (const auto& [levels, bits] : std::vector<std::pair<Index, Index>>{{1, 2}, {3, 3}, {4, 4}, {127, 8}, {128, 9}}) {
    RowCodec codec({.name = "qsgd", .levels = levels, .block = 100}, 333);
    CAPTURE(levels);
    CHECK(codec.room() == 4 * 4 + (333 * bits + 7) / 8);
  }
  RowCodec codec({.name = "qsgd", .levels = 3, .block = 2, .norm = "max"}, 5);
  const RowOutcome outcome = codec({3, -1, 0, 0, -6});
  CHECK(outcome.decoded == std::vector<float>{3, -1, 0, 0, -6});
  CHECK(load<float>(outcome.body.data() + 8) == 6);
  // 6, 2, 3, 3, 0 in 3 bits each, the first one lowest.
  CHECK(std::vector<std::uint8_t>(outcome.body.begin() + 12, outcome.body.end()) ==
        std::vector<std::uint8_t>{0xD6, 0x06});
}

TEST_CASE("Elias packing says its size, and decodes to the same numbers") {
  RowCodec codec({.name = "qsgd", .levels = 3, .block = 0, .norm = "max", .packing = "elias"}, 6);
  const RowOutcome outcome = codec({0, 0, -3, 2, 0, 0});
  CHECK(outcome.decoded == std::vector<float>{0, 0, -3, 2, 0, 0});
  // Lowest bit first: distance 3 = 101, sign 1, size 3 = 101; distance 1 = 0, sign 0, size 2 = 100; distance 3 = 101.
  CHECK(outcome.bytes == 4 + 4 + 2);
  CHECK(load<std::uint32_t>(outcome.body.data()) == 10);
  CHECK(load<float>(outcome.body.data() + 4) == 3);
  CHECK(outcome.body[8] == 0b01011101);
  CHECK(outcome.body[9] == 0b01010010);
  for (const NamedRow& row : kinds_of_rows(1000)) {
    RowCodec fixed({.name = "qsgd", .levels = 5}, 1000), elias({.name = "qsgd", .levels = 5, .packing = "elias"}, 1000);
    const RowOutcome plain = fixed(row.values), packed = elias(row.values);
    CAPTURE(row.name);
    CHECK(packed.decoded == plain.decoded);
    CHECK(packed.bytes == static_cast<Index>(load<std::uint32_t>(packed.body.data())));
    if (row.name == "sparse" || row.name == "zero") CHECK(packed.bytes < plain.bytes / 2);
  }
}

TEST_CASE("Elias packing fits its room where every level is the largest") {
  for (const Index levels : {1, 2, 3, 100}) {
    RowCodec codec({.name = "qsgd", .levels = levels, .norm = "max", .packing = "elias"}, 777);
    CAPTURE(levels);
    CHECK(codec(std::vector<float>(777, -1.0f)).bytes == codec.room());
  }
}

TEST_CASE("terngrad packs five elements per byte") {
  RowCodec codec({.name = "terngrad", .clip = 0}, 7);
  const RowOutcome outcome = codec({2, -2, 0, 2, 2, -2, 0});
  CHECK(outcome.decoded == std::vector<float>{2, -2, 0, 2, 2, -2, 0});
  CHECK(outcome.bytes == 6);
  CHECK(outcome.body[4] == 2 + 3 * 0 + 9 * 1 + 27 * 2 + 81 * 2);
  CHECK(outcome.body[5] == 0 + 3 * 1);
}

TEST_CASE("terngrad's workers share the largest clipped magnitude") {
  constexpr Index kShareOf = 72;  // elements of a server's chunk
  ExchangeOptions options;
  options.tensors = {9 * kShareOf};
  options.workers = 9;
  options.up = "terngrad";
  FloatRows rows;
  for (Index w = 0; w < 9; ++w) rows.push_back(oracle::normals(9 * kShareOf, 61, 0, w));
  rows[5][0] = 100;  // clipped at 2.5 root mean squares of its chunk
  for (const std::string devices : {"cpu", "cpu:3"}) {
    options.devices = devices;
    Exchange exchange(options);
    exchange(rows);
    const std::vector<std::uint8_t> body = exchange.channel.worker_payload().body.to_host();
    double expected = 0;  // of the whole vector; each chunk is clipped by its own root mean square
    for (std::ptrdiff_t chunk = 0; chunk < 9; ++chunk) {
      for (const std::vector<float>& row : rows) {
        const std::vector<float> part(row.begin() + kShareOf * chunk, row.begin() + kShareOf * (chunk + 1));
        expected = std::max(expected, std::min(largest_of(part), limit_of(part, 2.5)));
      }
    }
    for (std::ptrdiff_t chunk = 0; chunk < 9; ++chunk) {
      CAPTURE(devices, chunk);
      CHECK(load<float>(body.data() + chunk * (4 + 15)) == Approx(expected).epsilon(1e-6));
    }
  }
}

TEST_CASE("a constant row and a single element are not clipped by their own spread") {
  RowCodec one({.name = "terngrad"}, 1), many({.name = "terngrad"}, 9);
  CHECK(one({-3.0f}).decoded == std::vector<float>{-3});
  CHECK(many(std::vector<float>(9, 0.5f)).decoded == std::vector<float>(9, 0.5f));
}

TEST_CASE("natural compression keeps powers of two, in 9 bits") {
  const std::vector<float> row = {1, -2, 0x1p-126f, -0x1p127f, 0, 3.4028235e38f, 0x1p-149f};
  for (const std::string& backend : backends()) {
    RowCodec codec({.name = "natural"}, 7, backend);
    const RowOutcome outcome = codec(row);
    CHECK(outcome.decoded == std::vector<float>{1, -2, 0x1p-126f, -0x1p127f, 0, 0x1p127f, 0});
    CHECK(outcome.bytes == 8);
    CHECK(outcome.body[0] == 127);
    CHECK(outcome.body[1] == ((0x180u << 1) & 0xFF));
  }
}

TEST_CASE("traits tell who is unbiased") {
  CHECK(make_codec({.name = "terngrad", .clip = 0})->traits().unbiased);
  CHECK_FALSE(make_codec({.name = "terngrad"})->traits().unbiased);
  CHECK(make_codec({.name = "terngrad"})->traits().shared_max);
  CHECK_FALSE(make_codec({.name = "terngrad"})->omega(10).has_value());
  CHECK(make_codec({.name = "natural"})->traits().unbiased);
  CHECK(*make_codec({.name = "natural"})->omega(10) == 0.125);
  CHECK(make_codec({.name = "qsgd"})->traits().unbiased);
  CHECK_FALSE(make_codec({.name = "qsgd"})->traits().contraction);
  CHECK(*make_codec({.name = "qsgd", .levels = 1, .block = 0})->omega(10000) == Approx(100).epsilon(1e-4));
  CHECK(*make_codec({.name = "qsgd", .levels = 16, .block = 256})->omega(10000) == Approx(0.25).epsilon(1e-4));
}
