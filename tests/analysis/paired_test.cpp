#include "analysis/paired.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/catch.hpp"

using namespace onebit::analysis;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

Interval mean(const std::vector<double>& values) {
  return mean_interval(values);
}

Interval paired(const std::vector<double>& a, const std::vector<double>& b) {
  return paired_relative_difference(a, b);
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

TEST_CASE("paired: relative differences are signed, and taken pair by pair") {
  const Interval interval = paired({2, 4}, {2.2, 4.2});  // 0.1 and 0.05; t(1 degree) = 12.706205
  CHECK(interval.mean == Approx(0.075));
  CHECK(interval.half_width == Approx(12.706205 * 0.025).epsilon(1e-6));
  CHECK(paired({2, 4}, {1, 2}).mean == Approx(-0.5));
  CHECK(paired({2, 4}, {1, 2}).half_width == Approx(0).margin(1e-12));
  CHECK(std::isnan(paired({2, nan_value}, {1, 2}).mean));
}

TEST_CASE("paired: pairing sees a difference that the spread between seeds hides") {
  const std::vector<double> a = {1, 2, 3}, b = {1.01, 2.02, 3.03};
  const Interval difference = paired(a, b);
  CHECK(difference.mean - difference.half_width > 0.0099);
  CHECK(mean(b).mean - mean(b).half_width < mean(a).mean);
}
