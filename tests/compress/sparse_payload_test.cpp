// How sparse codecs write their elements: computed by hand, and read back by a plain reader.
#include "tests/catch.hpp"
#include "tests/compress/rows.hpp"
#include "tests/oracle/sparse.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::tests;

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes message(const CodecConfig& config, const std::vector<float>& row) {
  RowCodec codec(config, static_cast<Index>(row.size()));
  const RowOutcome outcome = codec(row);
  Bytes body = codec.body();
  body.resize(static_cast<std::size_t>(outcome.bytes));
  return body;
}

}  // namespace

// -4 is C0800000 and 3 is 40400000.
TEST_CASE("values come before indices of as few bits as the length needs") {
  const std::vector<float> row = {1, -4, 2, 0, 3};
  // 1 and 4 in 3 bits: 001 | 100 << 3
  CHECK(message({.name = "top-k", .k = 2}, row) == Bytes{0, 0, 0x80, 0xC0, 0, 0, 0x40, 0x40, 33});
  CHECK(message({.name = "threshold", .threshold = 2.5}, row) == Bytes{2, 0, 0, 0x80, 0xC0, 0, 0, 0x40, 0x40, 33});
}

// Gaps 1 and 2, no remainder bits as their mean is 1: 1, 0, then 1, 1, 0.
TEST_CASE("gaps are sent in a Rice code with its bytes before") {
  const std::vector<float> row = {1, -4, 2, 0, 3};
  CHECK(message({.name = "top-k", .k = 2, .packing = "delta"}, row) ==
        Bytes{1, 0, 0, 0x80, 0xC0, 0, 0, 0x40, 0x40, 13});
  CHECK(message({.name = "threshold", .threshold = 2.5, .packing = "delta"}, row) ==
        Bytes{2, 1, 0, 0, 0x80, 0xC0, 0, 0, 0x40, 0x40, 13});
}

// 256 elements need two bytes for a number; mean gap 127 gives 6 remainder bits. Gaps 130 = 2 * 64 + 2 and 3.
TEST_CASE("a gap is a quotient in unary and a remainder") {
  std::vector<float> row(256);
  row[130] = row[134] = -4;
  // 110 010000 | 0 110000, lowest bit first: 11001000 00110000
  CHECK(message({.name = "top-k", .k = 2, .packing = "delta"}, row) ==
        Bytes{2, 0, 0, 0, 0x80, 0xC0, 0, 0, 0x80, 0xC0, 0x13, 0x0C});
}

TEST_CASE("one element needs no index, and none needs nothing") {
  CHECK(message({.name = "top-k", .k = 1}, {3}) == Bytes{0, 0, 0x40, 0x40});
  CHECK(message({.name = "threshold", .threshold = 5}, {3}) == Bytes{0});
  CHECK(message({.name = "threshold", .threshold = 5}, std::vector<float>(300, 1.0f)) == Bytes{0, 0});
  CHECK(message({.name = "threshold", .threshold = 5, .packing = "delta"}, {3}) == Bytes{0, 0});
}

TEST_CASE("a plain reader finds what a threshold let through, in both packings") {
  for (const Index n : {Index{1}, Index{31}, Index{256}, Index{257}, Index{4097}}) {
    for (const NamedRow& row : kinds_of_rows(n)) {
      for (const double threshold : {0.0, 0.375, 1.0, 2.5, 60.0}) {
        const std::vector<std::size_t> indices = oracle::at_least(row.values, threshold);
        std::size_t sizes[2];
        for (const bool gaps : {false, true}) {
          const Bytes body =
              message({.name = "threshold", .threshold = threshold, .packing = gaps ? "delta" : "none"}, row.values);
          const oracle::SparseMessage read = oracle::read_sparse(body, row.values.size(), true, 0, gaps);
          CAPTURE(n, row.name, threshold, gaps);
          CHECK(read.indices == indices);
          CHECK(read.padded_with_zeros);
          CHECK(read.bytes == body.size());
          for (std::size_t j = 0; j < read.indices.size(); ++j) CHECK(read.values[j] == row.values[indices[j]]);
          sizes[gaps] = read.bytes - 4 * indices.size();
        }
        CHECK(sizes[1] <= 4 + static_cast<std::size_t>(ceil_div(n, 8)));  // two numbers and a bitmap
      }
    }
  }
}

TEST_CASE("gaps of one element in a hundred take about eight bits, not thirteen") {
  const std::vector<float> row = oracle::normals(8192, 5);
  const auto bits = [&](const char* packing) {
    const Bytes body = message({.name = "top-k", .k = 82, .packing = packing}, row);
    return 8 * (static_cast<double>(body.size()) / 82 - 4);
  };
  CHECK(bits("none") == Approx(13).margin(0.1));
  CHECK(bits("delta") == Approx(8.2).margin(0.5));
}
