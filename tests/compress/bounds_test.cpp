// The guarantees that codecs declare, on rows of every kind, for every codec of the table.
#include "tests/catch.hpp"
#include "tests/compress/rows.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::tests;

namespace {

const std::vector<Index> kSizes = {1, 31, 33, 1000, 4097};

/// Mean of C[x] over many keys, and the mean of ||C[x] - x||^2.
struct KeyMean {
  double bias_square = 0;  ///< ||mean C[x] - x||^2
  double variance = 0;     ///< mean ||C[x] - x||^2
};

KeyMean over_keys(RowCodec& codec, const std::vector<float>& row, Index keys) {
  oracle::Vector mean(row.size());
  KeyMean result;
  for (Index step = 1; step <= keys; ++step) {
    const std::vector<float> decoded = codec(row, step).decoded;
    const double distance = oracle::distance(decoded, row);
    result.variance += distance * distance / static_cast<double>(keys);
    for (std::size_t i = 0; i < row.size(); ++i) mean[i] += static_cast<double>(decoded[i]) / static_cast<double>(keys);
  }
  const double bias = oracle::distance(mean, row);
  result.bias_square = bias * bias;
  return result;
}

}  // namespace

TEST_CASE("a contraction keeps its delta on every kind of row") {
  for (const CodecConfig& config : all_codecs()) {
    for (const Index n : kSizes) {
      RowCodec codec(config, n);
      const std::optional<double> delta = codec.codec().delta(n);
      if (codec.codec().traits().contraction) CHECK(delta.has_value());
      if (!delta) continue;
      CAPTURE(config.name, n, *delta);
      CHECK((*delta > 0 && *delta <= 1));
      for (const NamedRow& row : kinds_of_rows(n)) {
        CAPTURE(row.name);
        CHECK(square(codec(row.values).error) <= (1 - *delta) * square(row.values) * (1 + 1e-5) + 1e-30);
      }
    }
  }
}

TEST_CASE("an unbiased codec keeps its omega, and its mean over keys is the row") {
  constexpr Index kKeys = 300;
  for (const CodecConfig& config : all_codecs()) {
    for (const Index n : {Index{1}, Index{33}, Index{1000}}) {
      RowCodec codec(config, n);
      if (!codec.codec().traits().unbiased) continue;
      const std::optional<double> omega = codec.codec().omega(n);
      CHECK((omega.has_value() || codec.codec().traits().shared_max));  // another worker's scale has no bound
      for (const NamedRow& row : kinds_of_rows(n)) {
        const KeyMean mean = over_keys(codec, row.values, kKeys);
        CAPTURE(config.name, n, row.name, omega.value_or(-1), mean.variance, mean.bias_square);
        // The mean's own error is the variance over the keys; a few coordinates may carry all of it.
        if (omega) {
          CHECK(mean.variance <= *omega * square(row.values) * (1 + 6 / std::sqrt(static_cast<double>(kKeys))) + 1e-12);
        }
        CHECK(mean.bias_square <= 12 * mean.variance / static_cast<double>(kKeys) + 1e-10 * square(row.values));
      }
    }
  }
}

TEST_CASE("the mean over keys finds out a codec that is biased") {
  RowCodec codec({.name = "sign-l1"}, 1000);
  const std::vector<float> row = oracle::normals(1000, 21);
  const KeyMean mean = over_keys(codec, row, 50);
  CHECK(mean.bias_square > 12 * mean.variance / 50);
}

TEST_CASE("a row occupies no more than the room that its codec asks for") {
  for (const CodecConfig& config : all_codecs()) {
    for (const Index n : kSizes) {
      RowCodec codec(config, n);
      for (const NamedRow& row : kinds_of_rows(n)) {
        const Index bytes = codec(row.values).bytes;
        CAPTURE(config.name, n, row.name);
        CHECK(bytes <= codec.room());
        if (!codec.codec().variable_size()) CHECK(bytes == codec.room());
      }
    }
  }
}

TEST_CASE("an empty row takes nothing, and rows of zeros lose nothing") {
  for (const CodecConfig& config : all_codecs()) {
    CAPTURE(config.name);
    RowCodec empty(config, 0);
    CHECK(empty({}).decoded.empty());
    if (config.name == "sign") continue;  // one bit without a scale cannot hold 0: it decodes to +1
    for (const float zero : {0.0f, -0.0f}) {
      RowCodec codec(config, 33);
      const RowOutcome outcome = codec(std::vector<float>(33, zero));
      CHECK(oracle::norm(outcome.decoded) == 0);
      CHECK(oracle::norm(outcome.error) == 0);
    }
  }
}

TEST_CASE("a row with NaN or infinity is refused by its number and the first place, or decodes to NaN") {
  for (const CodecConfig& config : all_codecs()) {
    for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
      std::vector<float> row = oracle::normals(33, 23);
      row[7] = row[20] = bad;
      RowCodec codec(config, 33);
      CAPTURE(config.name, bad);
      const RowOutcome outcome = codec(row, 1, 5);
      REQUIRE(outcome.refused.has_value() == codec.codec().refuses());
      if (!codec.codec().refuses()) {
        CHECK_FALSE(std::isfinite(oracle::norm(outcome.decoded)));
        continue;
      }
      CHECK(outcome.refused->worker == 5);
      CHECK(outcome.refused->state == 7);
      CHECK_FALSE(codec(oracle::normals(33, 23)).refused);
    }
  }
}
