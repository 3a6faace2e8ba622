// Codecs that round to fixed levels: by hand and against oracles.
#include "tests/oracle/quantizers.hpp"
#include "compress/codecs/bit_stream.hpp"
#include "compress/codecs/bytes.hpp"
#include "tests/catch.hpp"
#include "tests/compress/rows.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::tests;

namespace {

using Bytes = std::vector<std::uint8_t>;

RowOutcome encode(const CodecConfig& config, const std::vector<float>& row) {
  RowCodec codec(config, static_cast<Index>(row.size()));
  return codec(row);
}

/// The body after `skip` bytes of scales.
Bytes behind(const RowOutcome& outcome, std::ptrdiff_t skip) {
  return {outcome.body.begin() + skip, outcome.body.end()};
}

struct Scaled {
  std::string name;
  oracle::Vector levels;
};

std::vector<Scaled> scaled_codecs() {
  return {{"int8", oracle::integers(127)},
          {"int4", oracle::integers(7)},
          {"fp8-e4m3", oracle::small_floats(7, 3, 448)},
          {"fp8-e5m2", oracle::small_floats(15, 2, 57344)}};
}

}  // namespace

TEST_CASE("bits come back as they were written, and no byte further is touched") {
  Bytes bytes(12, 0xAA);
  BitWriter writer(bytes.data());
  writer.put(5, 3);
  writer.put(0, 0);
  writer.put(0x123456789ABCDE, 56);
  writer.put(1, 1);
  writer.put(0x3FF, 10);
  CHECK(writer.finish() == 9);
  CHECK(bytes[0] == ((0xDE << 3 | 5) & 0xFF));
  CHECK(bytes[8] == 0x3F);
  CHECK(bytes[9] == 0xAA);
  BitReader reader(bytes.data());
  CHECK(reader.get(3) == 5);
  CHECK(reader.get(56) == 0x123456789ABCDE);
  CHECK(reader.get(0) == 0);
  CHECK(reader.get(1) == 1);
  CHECK(reader.get(10) == 0x3FF);
}

TEST_CASE("every number of a small float format is its own nearest one") {
  for (std::uint32_t code = 0; code < 0x80; ++code) {
    if (code < 0x7F) CHECK(to_small_float<4, 3>(-from_small_float<4, 3>(code)) == (code | 0x80u));
    if (code < 0x7C) CHECK(to_small_float<5, 2>(from_small_float<5, 2>(code)) == code);
  }
  for (std::uint32_t code = 0; code < 0x7C00; ++code) {
    const auto half = static_cast<std::uint16_t>(code);
    REQUIRE(to_half(from_half(half)) == half);
  }
  CHECK(from_half(1) == 0x1p-24f);
  CHECK(from_half(0x7BFF) == 65504.0f);
  CHECK(to_half(-1.0f) == 0xBC00);
}

TEST_CASE("integers round to the nearest level, ties to the even one") {
  const std::vector<float> row = {1.5f, 2.5f, -2.5f, -127.0f, 0.25f, 126.75f, -0.0f, 3.0f};
  const RowOutcome eight = encode({.name = "int8", .block = 0}, row);
  CHECK(eight.decoded == std::vector<float>{2, 2, -2, -127, 0, 127, 0, 3});
  CHECK(eight.error == std::vector<float>{-0.5f, 0.5f, -0.5f, 0, 0.25f, -0.25f, 0, 0});
  CHECK(load<float>(eight.body.data()) == 127.0f);
  CHECK(behind(eight, 4) == Bytes{2, 2, 0xFE, 0x81, 0, 127, 0, 3});
  const RowOutcome four = encode({.name = "int4", .block = 2}, {14, -5, 3.5f, 0.75f, -1});
  CHECK(four.decoded == std::vector<float>{14, -4, 3.5f, 1, -1});
  CHECK(four.bytes == 3 * 4 + 3);
  CHECK(load<float>(four.body.data() + 4) == 3.5f);
  CHECK(behind(four, 12) == Bytes{0xE7, 0x27, 0x09});  // 7 and -2; 7 and 2; -7 and the padding
}

TEST_CASE("small floats round to the nearest number, ties to the even one") {
  const std::vector<float> row = {448, -17, 19, 0x1p-6f, 0x1p-9f, 0x1p-10f, 0x1.8p-9f, -464, 0.3f};
  const RowOutcome e4m3 = encode({.name = "fp8-e4m3", .block = 7}, row);
  CHECK(behind(e4m3, 8) == Bytes{0x7E, 0xD8, 0x5A, 0x08, 0x01, 0x00, 0x02, 0xFE, 0x29});
  CHECK(std::vector<float>(e4m3.decoded.begin(), e4m3.decoded.end() - 1) ==
        std::vector<float>{448, -16, 20, 0x1p-6f, 0x1p-9f, 0, 0x1p-8f, -464});
  const RowOutcome e5m2 = encode({.name = "fp8-e5m2", .block = 0}, {-57344, 9, 11, 0x1p-16f, 0x1p-17f, 1});
  CHECK(behind(e5m2, 4) == Bytes{0xFB, 0x48, 0x4A, 0x01, 0x00, 0x3C});
  CHECK(e5m2.decoded == std::vector<float>{-57344, 8, 12, 0x1p-16f, 0, 1});
}

TEST_CASE("scaled codecs send the nearest level of every block on every backend") {
  for (const Scaled& codec : scaled_codecs()) {
    for (const Index block : {0, 1, 64, 1000}) {
      for (const NamedRow& row : kinds_of_rows(333)) {
        const oracle::Vector expected = oracle::scaled(row.values, static_cast<std::size_t>(block), codec.levels);
        for (const std::string& backend : backends()) {
          RowCodec method({.name = codec.name, .block = block}, 333, backend);
          const RowOutcome outcome = method(row.values);
          CAPTURE(codec.name, block, row.name, backend);
          CHECK(oracle::distance(outcome.decoded, expected) <= 1e-6 * oracle::norm(expected));
          for (std::size_t i = 0; i < row.values.size(); ++i) {
            CHECK(outcome.error[i] == row.values[i] - outcome.decoded[i]);
          }
        }
      }
    }
  }
}

TEST_CASE("the bound of scaled integers is reached where all others lie just below half a step") {
  for (const auto& [name, largest] : {std::pair{"int8", 127.0f}, std::pair{"int4", 7.0f}}) {
    for (const Index n : {8, 64, 5000}) {
      std::vector<float> row(static_cast<std::size_t>(n), 0.499999f);
      row[1] = -largest;
      RowCodec codec({.name = name, .block = 0}, n);
      const double lost = square(codec(row).error) / square(row);
      const double bound = 1 - *codec.codec().delta(n);
      CAPTURE(name, n);
      CHECK(lost <= bound);
      CHECK(lost > 0.99 * bound);
    }
  }
}

TEST_CASE("scales of tiny and huge blocks neither vanish nor overflow") {
  for (const Scaled& codec : scaled_codecs()) {
    for (const float size : {1e-30f, 1e-37f, 3.4028235e38f}) {
      const std::vector<float> row = {size, -size, size / 2};
      const RowOutcome outcome = encode({.name = codec.name}, row);
      CAPTURE(codec.name, size);
      CHECK(outcome.decoded[0] == size);
      CHECK(outcome.decoded[1] == -size);
      CHECK(outcome.decoded[2] == Approx(size / 2).epsilon(0.15));
    }
  }
}

TEST_CASE("a block of denormals has the bytes of a block of zeros, which it is to a GPU") {
  for (const std::string name : {"int8", "int4", "qsgd"}) {
    for (const std::string& backend : backends()) {
      RowCodec codec({.name = name, .norm = "max"}, 4, backend);
      CAPTURE(name, backend);
      CHECK(codec({1e-40f, -1e-42f, 0, 1e-45f}).body == codec({0, 0, 0, 0}).body);
    }
  }
}

TEST_CASE("signs with a scale for every block") {
  const RowOutcome outcome = encode({.name = "sign-block", .block = 2}, {3, -4, 0, -0.0f, 1, 7, -2});
  const float root = std::sqrt(12.5f);
  CHECK(outcome.decoded == std::vector<float>{root, -root, 0, 0, 5, 5, -2});
  CHECK(load<float>(outcome.body.data()) == root);
  CHECK(behind(outcome, 16) == Bytes{0x3D});
  CHECK(outcome.error == std::vector<float>{3 - root, root - 4, 0, 0, -4, 2, 0});
  const std::vector<float> row = oracle::normals(1001, 43);
  for (const std::string& backend : backends()) {
    RowCodec blocks({.name = "sign-block", .block = 100}, 1001, backend);
    CHECK(blocks(row).bytes == 4 * 11 + 126);
    RowCodec whole({.name = "sign-block", .block = 0}, 1001, backend), plain({.name = "sign-l2"}, 1001, backend);
    CHECK(whole(row).decoded == plain(row).decoded);
  }
}

TEST_CASE("1-bit SGD's quantiser sends the means of both sides") {
  const RowOutcome outcome = encode({.name = "onebit"}, {1, -2, -0.0f, 5, -4, 0, -3, 0, 4});
  CHECK(outcome.decoded == std::vector<float>{5 / 3.0f, -3, 5 / 3.0f, 5 / 3.0f, -3, 5 / 3.0f, -3, 5 / 3.0f, 5 / 3.0f});
  CHECK(load<float>(outcome.body.data()) == -3);
  CHECK(behind(outcome, 8) == Bytes{0xAD, 0x01});
  CHECK(encode({.name = "onebit"}, {-2, -4}).decoded == std::vector<float>{-3, -3});
  CHECK(encode({.name = "onebit"}, {7}).decoded == std::vector<float>{7});
  const std::vector<float> row = oracle::normals(501, 41);
  for (const std::string& backend : backends()) {
    RowCodec codec({.name = "onebit"}, 501, backend);
    const RowOutcome decoded = codec(row);
    CHECK(oracle::distance(decoded.decoded, oracle::two_means(row)) < 1e-6 * oracle::norm(row));
    CHECK(decoded.bytes == 8 + 63);
  }
}

TEST_CASE("the bound of two means is reached by a one-hot row") {
  std::vector<float> row(100);
  row[42] = 3;
  CHECK(square(encode({.name = "onebit"}, row).error) == Approx(0.99 * 9));
  CHECK(*make_codec({.name = "onebit"})->delta(100) == Approx(0.01));
}

TEST_CASE("options of quantisers out of range are refused in one line") {
  CHECK_THROWS_WITH(make_codec({.name = "int8", .block = -1}),
                    "codec option out of range (codec.block -1); 0 (the whole segment) or more");
  CHECK_THROWS_WITH(make_codec({.name = "qsgd", .levels = 0}),
                    "codec option out of range (codec.levels 0); from 1 to 32767");
  CHECK_THROWS_WITH(make_codec({.name = "qsgd", .norm = "l1"}), "codec option out of range (codec.norm l1); l2 or max");
  CHECK_THROWS_WITH(make_codec({.name = "qsgd", .packing = "delta"}),
                    "codec option out of range (codec.packing delta); none or elias");
  CHECK_THROWS_AS(make_codec({.name = "qsgd", .levels = 32768}), ConfigError);
  CHECK_THROWS_AS(make_codec({.name = "qsgd", .block = -5}), ConfigError);
  CHECK_THROWS_AS(make_codec({.name = "terngrad", .clip = -1}), ConfigError);
  CHECK_THROWS_AS(make_codec({.name = "terngrad", .clip = std::nan("")}), ConfigError);
}
