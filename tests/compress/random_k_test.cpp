#include "compress/random_k.hpp"

#include <cstring>
#include <map>
#include <set>

#include "tests/catch.hpp"
#include "tests/compress/rows.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::tests;

namespace {

std::set<std::size_t> sent(const std::vector<float>& decoded) {
  std::set<std::size_t> indices;
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    if (decoded[i] != 0) indices.insert(i);
  }
  return indices;
}

/// 1, 2, ..., n
std::vector<float> counting(Index n) {
  std::vector<float> row;
  for (Index i = 1; i <= n; ++i) row.push_back(static_cast<float>(i));
  return row;
}

}  // namespace

TEST_CASE("a keyed permutation visits every element once") {
  for (const Index n : {1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 65, 1000, 4097}) {
    for (std::uint32_t key = 0; key < 20; ++key) {
      const KeyedPermutation order({key, 77}, n);
      std::set<Index> seen;
      for (Index i = 0; i < n; ++i) seen.insert(order(i));
      CAPTURE(n, key);
      CHECK(static_cast<Index>(seen.size()) == n);
      CHECK(*seen.begin() == 0);
      CHECK(*seen.rbegin() == n - 1);
    }
  }
}

TEST_CASE("a keyed permutation of a very long vector stays in it") {
  const Index n = (Index{1} << 40) + 12345;
  const KeyedPermutation order({1, 2}, n);
  std::set<Index> seen;
  for (Index i = 0; i < 1000; ++i) seen.insert(order(i));
  CHECK(seen.size() == 1000);
  CHECK(*seen.begin() >= 0);
  CHECK(*seen.rbegin() < n);
  CHECK(*seen.rbegin() > n / 2);
}

TEST_CASE("random-k sends k different elements as they are, and makes their indices from the key") {
  for (const std::string& backend : backends()) {
    for (const Index n : {Index{1}, Index{33}, Index{1000}}) {
      for (const double k : {1.0, 0.25, 1e6}) {
        RowCodec codec({.name = "random-k", .k = k}, n, backend);
        const std::vector<float> row = counting(n);
        const RowOutcome outcome = codec(row);
        const auto count = static_cast<std::size_t>(k < 1 ? ceil_div(n, 4) : std::min(n, static_cast<Index>(k)));
        CAPTURE(backend, n, k);
        CHECK(sent(outcome.decoded).size() == count);
        CHECK(outcome.bytes == 8 + 4 * static_cast<Index>(count));
        for (std::size_t i = 0; i < row.size(); ++i) CHECK(outcome.decoded[i] + outcome.error[i] == row[i]);
        const std::vector<std::uint8_t> body = codec.body();
        PermutationKey key;
        std::memcpy(&key, body.data(), 8);
        const KeyedPermutation order(key, n);
        for (std::size_t j = 0; j < count; ++j) {
          float value = 0;
          std::memcpy(&value, &body[8 + 4 * j], 4);
          CHECK(value == row[static_cast<std::size_t>(order(static_cast<Index>(j)))]);
        }
      }
    }
  }
}

TEST_CASE("scaled random-k sends n / k times the elements, the largest float at most") {
  RowCodec codec({.name = "random-k", .k = 2, .scaled = true}, 8);
  const RowOutcome outcome = codec(counting(8));
  CHECK(sent(outcome.decoded).size() == 2);
  for (const std::size_t i : sent(outcome.decoded)) {
    CHECK(outcome.decoded[i] == 4 * static_cast<float>(i + 1));
    CHECK(outcome.error[i] == -3 * static_cast<float>(i + 1));
  }
  CHECK(codec.codec().omega(8) == 3.0);
  CHECK_FALSE(codec.codec().delta(8));
  constexpr float kLargest = std::numeric_limits<float>::max();
  for (const float value : codec(std::vector<float>(8, -kLargest)).decoded) CHECK((value == 0 || value == -kLargest));
}

TEST_CASE("unscaled random-k promises neither a delta nor an omega") {
  RowCodec codec({.name = "random-k"}, 8);
  CHECK_FALSE(codec.codec().omega(8));
  CHECK_FALSE(codec.codec().delta(8));
  CHECK_FALSE(codec.codec().traits().unbiased);
  CHECK_FALSE(codec.codec().traits().contraction);
}

TEST_CASE("shared indices are the same for all workers, own ones are not, and both change with the step") {
  const std::vector<float> row = counting(1000);
  for (const bool shared : {true, false}) {
    RowCodec codec({.name = "random-k", .k = 100, .shared = shared}, 1000);
    const auto of = [&](Index step, Index worker) { return sent(codec(row, step, worker).decoded); };
    CAPTURE(shared);
    CHECK(of(1, 0) == of(1, 0));
    CHECK((of(1, 0) == of(1, 1)) == shared);
    CHECK(of(1, 0) != of(2, 0));
  }
}

// 5.5 standard deviations of a binomial count; 13 elements and 78 pairs.
TEST_CASE("elements and pairs of elements are drawn equally often") {
  constexpr Index kSteps = 6000;
  RowCodec codec({.name = "random-k", .k = 4}, 13);
  std::map<std::pair<std::size_t, std::size_t>, double> counts;
  for (Index step = 1; step <= kSteps; ++step) {
    const std::set<std::size_t> indices = sent(codec(counting(13), step).decoded);
    for (const std::size_t a : indices) {
      for (const std::size_t b : indices) counts[{a, b}] += 1;
    }
  }
  for (std::size_t a = 0; a < 13; ++a) {
    for (std::size_t b = 0; b < 13; ++b) {
      const double p = a == b ? 4.0 / 13 : 1.0 / 13;
      CAPTURE(a, b);
      CHECK(counts[{a, b}] == Approx(kSteps * p).margin(5.5 * std::sqrt(kSteps * p * (1 - p))));
    }
  }
}
