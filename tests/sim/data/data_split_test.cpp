// The parts of data sources: the hash, the split, the limit on sizes.

#include <cmath>
#include <cstdint>
#include <set>
#include <string>

#include "device/base/error.hpp"
#include "sim/data/features/dense.hpp"
#include "sim/data/hash.hpp"
#include "sim/data/split.hpp"
#include "tests/catch.hpp"

namespace onebit::sim {
namespace {

TEST_CASE("FNV-1a gives the published values") {
  const auto hash = [](const std::string& text) {
    Fnv1a fnv;
    fnv.add(text.data(), text.size());
    return fnv.hex();
  };
  CHECK(hash("") == "cbf29ce484222325");
  CHECK(hash("a") == "af63dc4c8601ec8c");
  CHECK(hash("foobar") == "85944171f73967e8");
}

TEST_CASE("the split: shares, limits, a permutation") {
  CHECK(holdout_count(10000, 0.1, "") == 1000);
  CHECK(holdout_count(10, 0.0, "") == 0);
  CHECK(holdout_count(10, 1e-9, "") == 1);
  CHECK(holdout_count(10, 0.999, "") == 9);
  for (const double bad : {-0.1, 1.0, std::nan("")}) CHECK_THROWS_AS(holdout_count(10, bad, ""), ConfigError);
  CHECK_THROWS_AS(holdout_count(1, 0.1, ""), ConfigError);
  CHECK_THROWS_AS(holdout_count(0, 0.0, ""), ConfigError);
  const auto order = fixed_permutation(1000);
  const std::set<std::uint32_t> all(order.begin(), order.end());
  CHECK((all.size() == 1000 && *all.rbegin() == 999));
  CHECK(order[0] + 1 != order[1]);
  CHECK(fixed_permutation(0).empty());
}

TEST_CASE("dense volumes are limited without overflow") {
  CHECK(dense_volume({1 << 16, 1 << 15}, "") == dense_limit);
  CHECK_THROWS_AS(dense_volume({1 << 16, (1 << 15) + 1}, ""), ConfigError);
  CHECK_THROWS_AS(dense_volume({4, Index{1} << 62}, ""), ConfigError);  // 2^64, which wraps to 0
}

}  // namespace
}  // namespace onebit::sim
