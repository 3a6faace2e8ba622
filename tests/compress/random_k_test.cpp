#include "compress/codecs/sparse/random_k.hpp"

#include <cstring>
#include <map>
#include <set>

#include "compress/channels/compressed_mean.hpp"
#include "tests/catch.hpp"
#include "tests/compress/recording.hpp"
#include "tests/compress/rows.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::tests;
using Catch::Matchers::Contains;

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

TEST_CASE("random-k takes recorded indices, a row for every step and worker, and refuses what does not fit") {
  constexpr Index kSize = 10, kWorkers = 2;
  const std::vector<Tensor> tensors = {{"a", 6}, {"b", 4}};
  ExchangeConfig config;
  config.up = {.name = "random-k", .k = 2, .shared = false};
  config.granularity = Granularity::fused;
  const auto recorded = [](std::vector<Index> sizes, std::vector<double> indices) {
    return std::make_shared<Recording>(
        std::map<std::string, RecordedArray>{{"mask_indices", {std::move(sizes), std::move(indices)}}});
  };
  config.recorded = recorded({3, 2, 2}, {0, 9, 3, 4, 5, 6, 5, -1, 1, 2, 8, 7});
  const std::vector<std::vector<float>> expected = {
      {1, 0, 0, 8, 10, 0, 0, 0, 0, 10}, {0, 0, 0, 0, 0, 18, 7, 0, 0, 0}, {0, 2, 3, 0, 0, 0, 0, 16, 18, 0}};
  for (const std::string& backend : backends()) {
    const device::Device device = device_of(backend);
    const device::Shard shard = device::whole(device, kWorkers);
    CompressedMean exchange(shard, tensors, config);
    std::vector<float> flat = counting(kSize);
    for (Index i = 0; i < kSize; ++i) flat.push_back(2 * flat[static_cast<std::size_t>(i)]);
    const auto rows = on(device, flat), ones = on(device, std::vector<float>{1, 1});
    device::Buffer<float> mean(device, kSize);
    for (Index step = 1; step <= 3; ++step) {
      netmodel::TrafficList traffic;
      exchange.reset_errors();
      exchange.begin(step);
      exchange.absorb({0, kWorkers}, {.rows = rows.data(), .stride = kSize, .factors = ones.data()});
      exchange.exchange(mean.data(), traffic);
      std::vector<float> twice = mean.to_host();
      for (float& value : twice) value *= 2;
      CAPTURE(backend, step);
      CHECK(twice == expected[static_cast<std::size_t>(step - 1)]);
    }
  }
  const device::Shard shard = device::whole(device::Device::cpu(1), kWorkers);
  const auto refused = [&](const std::string& why) {
    CHECK_THROWS_WITH(CompressedMean(shard, tensors, config), Contains("mask_indices") && Contains(why));
  };
  config.granularity = Granularity::tensor;
  refused("--optimizer.granularity fused");
  config.granularity = Granularity::fused;
  config.recorded = recorded({3, 2, 2}, std::vector<double>(12, 10));
  refused("from 0 to 9");
  config.recorded = recorded({2, 2, 2}, std::vector<double>(8));
  refused("expected: [3, 2, 2]");
  config.recorded = recorded({3, 2, 2}, std::vector<double>(12));
  config.pattern = ExchangePattern::server;
  CHECK_THROWS_WITH(CompressedMean(shard, tensors, config), Contains("refer to whole vectors"));
}
