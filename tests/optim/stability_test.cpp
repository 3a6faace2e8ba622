#include "optim/two_stage/stability.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::optim;

TEST_CASE("the weight of a variance that starts at 0 is 1 - beta2^t where the optimizer divides by it") {
  const VarianceBias bias{.beta2 = 0.5, .removed = true};
  CHECK(bias.weight(1) == 0.5);
  CHECK(bias.weight(3) == 0.875);
  CHECK(bias.weight(0) == 1);
  CHECK(VarianceBias{.beta2 = 0.5, .removed = false}.weight(3) == 1);
}

TEST_CASE("the stability ratio is that of the smaller to the larger") {
  CHECK(stability_ratio(1, 4) == 0.25);
  CHECK(stability_ratio(4, 1) == 0.25);
  CHECK(std::isnan(stability_ratio(0, 1)));
  CHECK(std::isnan(stability_ratio(1, 0)));
  CHECK(std::isnan(stability_ratio(NAN, 1)));
}

TEST_CASE("the watch compares with the norm `lag` updates ago, as it is stored and without its bias") {
  StabilityWatch watch(2, {.beta2 = 0.5, .removed = true});  // weights 1/2, 3/4, 7/8, 15/16
  CHECK(std::isnan(watch.push(1).raw));
  CHECK(std::isnan(watch.push(2).corrected));
  const Stability third = watch.push(4);  // 4 / (7/8) over 1 / (1/2): 32/7 over 2
  CHECK(third.raw == 0.25);
  CHECK(third.corrected == Approx(7.0 / 16));
  const Stability fourth = watch.push(1);  // 1 / (15/16) over 2 / (3/4): 16/15 over 8/3
  CHECK(fourth.raw == 0.5);
  CHECK(fourth.corrected == Approx(0.4));
  StabilityWatch raw(1, {.beta2 = 0.5, .removed = false});
  raw.push(1);
  const Stability stored = raw.push(4);
  CHECK(stored.corrected == 0.25);
  CHECK(stored.raw == 0.25);
  CHECK(std::isnan(raw.push(0).raw));
}

TEST_CASE("with constant gradients the variance that preconditions is stable from the first ratio on") {
  const double beta2 = 0.9;
  StabilityWatch watch(5, {beta2, true});
  double variance = 0;
  for (int t = 1; t <= 30; ++t) {
    variance = beta2 * variance + (1 - beta2) * 7;
    const Stability ratio = watch.push(variance);
    if (t <= 5) continue;
    CHECK(ratio.corrected == Approx(1).epsilon(1e-12));
    CHECK(ratio.raw == Approx((1 - std::pow(beta2, t - 5)) / (1 - std::pow(beta2, t))));
  }
}

TEST_CASE("a ratio dwells at a threshold once it has been there for so many steps without a break") {
  Dwell dwell(0.5, 3);
  CHECK_FALSE(dwell.push(1, 0.5));
  CHECK_FALSE(dwell.push(2, 0.6));
  CHECK(dwell.first() == 1);
  CHECK_FALSE(dwell.push(3, 0.49));
  CHECK(dwell.first() == 0);
  CHECK_FALSE(dwell.push(4, 1));
  CHECK_FALSE(dwell.push(5, NAN));
  CHECK(dwell.push(6, 1));  // steps 4 to 6
  CHECK_FALSE(dwell.push(7, NAN));
  CHECK(dwell.push(8, 1));
  Dwell sparse(0.5, 10);  // a log that has every tenth step
  CHECK_FALSE(sparse.push(10, 1));
  CHECK(sparse.push(20, 1));
}
