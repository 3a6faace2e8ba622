#include "analysis/compare/paired.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::analysis;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

Interval mean(const std::vector<double>& values) {
  return mean_interval(values);
}

Difference paired(const std::vector<double>& a, const std::vector<double>& b) {
  return paired_difference(a, b);
}

double flips(const std::vector<double>& differences) {
  return sign_flip_p(differences);
}

}  // namespace

TEST_CASE("paired: a mean with its interval by Student's t") {
  const Interval interval = mean({1, 2, 3});  // standard deviation 1, t(2 degrees, 97.5%) = 4.302653
  CHECK(interval.mean == Approx(2));
  CHECK(interval.half_width == Approx(4.302653 / std::sqrt(3.0)).epsilon(1e-6));
  CHECK(interval.count == 3);
  CHECK(mean({4, 4, 4, 4}).half_width == 0);
  // t(4 degrees) = 2.776445, variance 2.5
  CHECK(mean({1, 2, 3, 4, 5}).half_width == Approx(2.776445 * std::sqrt(2.5 / 5)).epsilon(1e-6));
}

TEST_CASE("paired: an interval of another level, and the deviation behind it") {
  const std::vector<double> values = {1, 2, 3};  // t(2 degrees, 99.1667%) = 7.648804: three comparisons at 95%
  CHECK(mean_interval(values, 1 - 0.05 / 3).half_width == Approx(7.648804 / std::sqrt(3.0)).epsilon(1e-5));
  const std::vector<double> a = {1, 1, 1}, b = {std::exp(0.01), std::exp(0.02), std::exp(0.03)};
  const Difference difference = paired_difference(a, b, 0.9);  // t(2 degrees, 95%) = 2.919986
  CHECK(difference.deviation == Approx(0.01));
  const double half = 2.919986 * 0.01 / std::sqrt(3.0);
  CHECK(difference.low == Approx(std::exp(0.02 - half) - 1).epsilon(1e-6));
  CHECK(difference.high == Approx(std::exp(0.02 + half) - 1).epsilon(1e-6));
  CHECK(std::isnan(paired_difference(std::vector{1.0}, std::vector{2.0}).deviation));
}

TEST_CASE("paired: seeds needed are those of the tables of paired t tests") {
  // Two-sided 5%, power 80%, difference over deviation: as in Cohen's tables and G*Power.
  CHECK(seeds_needed(1, 0.2, 0.95, 0.8) == 199);
  CHECK(seeds_needed(1, 0.5, 0.95, 0.8) == 34);
  CHECK(seeds_needed(1, 0.8, 0.95, 0.8) == 15);
  CHECK(seeds_needed(0.01, 0.01, 0.95, 0.8) == 10);
  // by hand: t(9 degrees) is 2.262157 at 97.5%, 0.883404 at 80%: 3.145561^2 = 9.894554 <= 10; with 9 pairs
  // (2.306004 + 0.888890)^2 = 10.207 > 9
  CHECK(seeds_needed(1, 1 / 1.0055, 0.95, 0.8) == 11);  // 9.894554 * 1.0055^2 = 10.0037 > 10
  CHECK(seeds_needed(1, 0.5, 0.9, 0.8) == 27);  // t(26) 1.705618 + 0.855665: 26.2406; with 26 pairs 26.3041 > 26
}

TEST_CASE("paired: seeds needed at the ends: at least two, a million at most, none without a deviation") {
  CHECK(seeds_needed(0, 0.01, 0.95, 0.8) == 2);
  CHECK(seeds_needed(1e-9, 0.01, 0.95, 0.8) == 2);
  CHECK(seeds_needed(1e6, 0.01, 0.95, 0.8) == most_seeds);
  CHECK(seeds_needed(std::numeric_limits<double>::infinity(), 0.01, 0.95, 0.8) == most_seeds);
  CHECK(seeds_needed(nan_value, 0.01, 0.95, 0.8) == 0);
}

TEST_CASE("paired: fewer than two values have no interval") {
  CHECK(mean({7}).mean == 7);
  CHECK(std::isnan(mean({7}).half_width));
  CHECK(mean({7}).count == 1);
  CHECK(std::isnan(mean({}).mean));
  CHECK(std::isnan(mean({}).half_width));
  CHECK(mean({}).count == 0);
}

TEST_CASE("paired: a value that is not finite spoils mean and interval") {
  CHECK(std::isnan(mean({1, nan_value, 3}).mean));
  CHECK(std::isnan(mean({1, nan_value, 3}).half_width));
}

TEST_CASE("paired: ratios are averaged by their logarithms, pair by pair") {
  const Difference same = paired({1, 4}, {2, 2});  // twice as high, and half as high
  CHECK(same.mean == Approx(0).margin(1e-12));
  CHECK((same.contains_zero() && same.low > -1));
  const Difference difference = paired({2, 4}, {2.2, 4.2});  // 1.1 and 1.05; t(1 degree) = 12.706205
  CHECK(difference.mean == Approx(std::sqrt(1.1 * 1.05) - 1));
  const double half = 12.706205 * std::log(1.1 / 1.05) / 2;
  CHECK(std::log1p(difference.low) == Approx(std::log(1.1 * 1.05) / 2 - half).epsilon(1e-6));
  CHECK(std::log1p(difference.high) == Approx(std::log(1.1 * 1.05) / 2 + half).epsilon(1e-6));
  CHECK(paired({2, 4}, {1, 2}).mean == Approx(-0.5));
  CHECK(paired({2, 4}, {1, 2}).high == Approx(-0.5));
  CHECK(difference.on_scale(0.5) == std::log(1.5));
  CHECK(std::isnan(paired({2, nan_value}, {1, 2}).mean));
  // 5 to 26 times as high: the mean ratio 14.3 ± 26.6 would reach below 1
  const Difference high = paired({1, 1, 1}, {5, 12, 26});
  CHECK_FALSE(high.contains_zero());
  CHECK(high.mean == Approx(std::cbrt(5.0 * 12 * 26) - 1));
}

TEST_CASE("paired: pairing sees a difference that the spread between seeds hides") {
  const std::vector<double> a = {1, 2, 3}, b = {1.01, 2.02, 3.03};
  CHECK(paired(a, b).low > 0.0099);
  CHECK(mean(b).mean - mean(b).half_width < mean(a).mean);
}

TEST_CASE("paired: values of 0 and below have relative differences, equal ones whatever they are") {
  CHECK(paired({0, 2}, {0, 2}).mean == 0);
  CHECK((paired({0, 2}, {0, 2}).low == 0 && paired({0, 2}, {0, 2}).high == 0));
  const Difference negative = paired({-2, -4}, {-1, -3});  // 0.5 and 0.25
  CHECK_FALSE(negative.is_ratio);
  CHECK(negative.mean == Approx(0.375));
  CHECK(negative.high == Approx(0.375 + 12.706205 * 0.125).epsilon(1e-6));
  CHECK(negative.on_scale(0.5) == 0.5);
  CHECK_FALSE(paired({2, 4}, {0, 2}).is_ratio);
  CHECK_FALSE(std::isfinite(paired({0, 2}, {1, 2}).mean));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(std::isnan(paired({infinity, 2}, {infinity, 2}).mean));
}

TEST_CASE("paired: exact p of sign flips, counted by hand") {
  CHECK(flips({1, 2, 3}) == 2.0 / 8);           // of the sums 6, 4, 2, 0 and their opposites
  CHECK(flips({4, 1, -2}) == 6.0 / 8);          // 3: of 7, 5, 3, 1 and their opposites
  CHECK(flips({1, -1}) == 1);                   // 0: every sum is at least as far from 0
  CHECK(flips({0.1, 0.2, -0.3}) == 1);          // 0 but for rounding
  CHECK(flips({0.1, 0.1, 0.1, 0.3}) == 0.125);  // 0.6: itself and its opposite
  CHECK(flips({1e-8, 2e-8, 3e-8}) == 2.0 / 8);  // whatever their size
  CHECK(flips({1e7, 2e7 + 1e-8, -3e7}) == 1);
  CHECK(flips({-1, -1, -1, -1, -1}) == 1.0 / 16);
  CHECK(flips({7}) == 1);
  CHECK(flips({0, 0, 0}) == 1);
  CHECK(flips(std::vector<double>(16, 2.0)) == 1.0 / 32768);
}

TEST_CASE("paired: p of no values, and of values that are not finite") {
  CHECK(std::isnan(flips({})));
  CHECK(std::isnan(flips({1, nan_value})));
  CHECK(std::isnan(flips({1, std::numeric_limits<double>::infinity()})));
}

TEST_CASE("paired: many values are flipped by drawn signs, close to the exact share and always the same") {
  const std::vector<double> differences = {1, -2, 3, 4, -1, 2, 5, -3, 1, 2, -4, 3, 1, -1, 2, 1, 4};
  double observed = 0;
  for (double difference : differences) observed += difference;
  Index exact = 0;
  for (std::size_t signs = 0; signs < std::size_t{1} << 17; ++signs) {
    double sum = 0;
    for (std::size_t i = 0; i < 17; ++i) sum += (signs >> i & 1U) != 0 ? -differences[i] : differences[i];
    exact += std::abs(sum) >= observed;
  }
  const double share = static_cast<double>(exact) / (1 << 17);
  CHECK(flips(differences) == Approx(share).margin(0.01));  // five standard deviations of 65,536 draws
  CHECK(flips(differences) == flips(differences));
}

TEST_CASE("paired: no drawn signs of 300 equal values have a sum as far from 0 as the values have", "[once]") {
  CHECK(flips(std::vector<double>(300, 1.0)) == 1.0 / 65537);  // three blocks of signs per draw
}

TEST_CASE("paired: a difference has interval, p and pairs") {
  const std::vector<double> a = {2, 4, 8}, b = {2.2, 4.2, 8.4};
  const Difference difference = paired_difference(a, b);
  CHECK(difference.pairs == 3);
  CHECK(difference.mean == Approx(std::cbrt(1.1 * 1.05 * 1.05) - 1));
  CHECK(difference.p == 0.25);
  const std::vector<double> spoilt = {2.2, nan_value, 8.4};
  CHECK(std::isnan(paired_difference(a, spoilt).mean));
  CHECK(std::isnan(paired_difference(a, spoilt).p));
  CHECK(paired_difference({}, {}).pairs == 0);
  CHECK(std::isnan(paired_difference({}, {}).low));
}
