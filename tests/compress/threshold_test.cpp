#include "compress/codecs/sparse/threshold.hpp"

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"
#include "tests/compress/rows.hpp"
#include "tests/oracle/sparse.hpp"

using namespace onebit;
using namespace onebit::compress;
using namespace onebit::tests;

TEST_CASE("a threshold lets through what reaches it, whatever its sign") {
  RowCodec codec({.name = "threshold", .threshold = 2}, 6);
  const RowOutcome outcome = codec({-1, -2, 2, 0, -5, 0x1.fffffep0f});
  CHECK(outcome.decoded == std::vector<float>{0, -2, 2, 0, -5, 0});
  CHECK(outcome.error[0] == -1);
  CHECK(outcome.error[4] == 0);
  CHECK(codec({-1, -1, 1, 0, 1, 1}).bytes == 1);
  CHECK(codec({-9, -9, 9, 3, 9, 9}).bytes == codec.room());
}

TEST_CASE("the threshold 0 lets everything through but zeros") {
  RowCodec codec({.name = "threshold", .threshold = 0}, 4);
  const RowOutcome outcome = codec({0, 1e-40f, -0.0f, -3});
  CHECK(outcome.decoded == std::vector<float>{0, 1e-40f, 0, -3});
  CHECK(oracle::norm(outcome.error) == 0);
  CHECK(outcome.bytes == 1 + 2 * 4 + 1);
}

TEST_CASE("threshold and dct find what a plain search finds, on every backend") {
  for (const std::string& backend : backends()) {
    for (const Index n : {Index{1}, Index{33}, Index{4097}}) {
      for (const NamedRow& row : kinds_of_rows(n)) {
        CAPTURE(backend, n, row.name);
        RowCodec fixed({.name = "threshold", .threshold = 0.7}, n, backend);
        // 0.7 as the float32 that elements are compared with
        CHECK(fixed(row.values).decoded ==
              oracle::only(row.values, oracle::at_least(row.values, static_cast<double>(0.7f))));
        RowCodec renewed({.name = "dct", .k = 0.1}, n, backend);
        const auto k = static_cast<std::size_t>(ceil_div(n, 10));
        const double kth = std::fabs(static_cast<double>([&] {
          std::vector<float> sorted = row.values;
          std::sort(sorted.begin(), sorted.end(), [](float a, float b) { return std::fabs(a) > std::fabs(b); });
          return sorted[k - 1];
        }()));
        CHECK(renewed(row.values).decoded == oracle::only(row.values, oracle::at_least(row.values, kth)));
      }
    }
  }
}

TEST_CASE("dct keeps its threshold until it is renewed") {
  RowCodec codec({.name = "dct", .k = 2, .renew = 4}, 5);
  const std::vector<float> first = {1, 2, 3, 4, 5}, second = {3, 3, -4, -4, 9}, third = {1, 1, 1, 1, 1};
  CHECK(codec(first, 2).decoded == std::vector<float>{0, 0, 0, 4, 5});  // none yet: found at once, 4
  CHECK(codec(second, 3).decoded == std::vector<float>{0, 0, -4, -4, 9});
  CHECK(codec(third, 3).decoded == std::vector<float>(5, 0.0f));
  CHECK(codec(second, 4).decoded == std::vector<float>{0, 0, -4, -4, 9});  // renewed: the second largest is 4
  CHECK(codec({2, 3, 4, 5, 6}, 8).decoded == std::vector<float>{0, 0, 0, 5, 6});
  CHECK(codec(second, 9).decoded == std::vector<float>{0, 0, 0, 0, 9});
}

TEST_CASE("a vector of fewer than k numbers sends them and finds its threshold later") {
  RowCodec codec({.name = "dct", .k = 2, .renew = 100}, 4);
  CHECK(codec({0, 0, -7, 0}, 1).decoded == std::vector<float>{0, 0, -7, 0});
  CHECK(codec({1, 2, 3, 4}, 2).decoded == std::vector<float>{0, 0, 3, 4});
  CHECK(codec({1, 2, 3, 2}, 3).decoded == std::vector<float>{0, 0, 3, 0});
}

TEST_CASE("with error feedback, dct leaves errors below its threshold and loses nothing") {
  constexpr Index kSize = 1000, kRenew = 7;
  RowCodec codec({.name = "dct", .k = 0.01, .renew = kRenew}, kSize);
  std::vector<float> error(kSize);
  std::vector<double> sent(kSize), given(kSize);
  double threshold = 0;
  for (Index step = 1; step <= 60; ++step) {
    const std::vector<float> gradient = oracle::normals(kSize, 3, step);
    std::vector<float> sum(kSize);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = gradient[i] + error[i];
    if (step == 1 || step % kRenew == 0) {
      std::vector<float> sizes;
      for (const float value : sum) sizes.push_back(std::fabs(value));
      std::sort(sizes.begin(), sizes.end());
      threshold = static_cast<double>(sizes[990]);  // floor(1000 * 0.99), counted from 0 in ascending order
    }
    const RowOutcome outcome = codec(sum, step);
    error = outcome.error;
    Index count = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      given[i] += static_cast<double>(gradient[i]);
      sent[i] += static_cast<double>(outcome.decoded[i]);
      count += outcome.decoded[i] != 0 ? 1 : 0;
      REQUIRE(std::fabs(static_cast<double>(error[i])) < threshold);
    }
    if (step == 1 || step % kRenew == 0) CHECK(count == 10);
  }
  for (std::size_t i = 0; i < sent.size(); ++i) {
    CHECK(sent[i] + static_cast<double>(error[i]) == Approx(given[i]).margin(1e-4));
  }
}
