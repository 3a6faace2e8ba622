#include "analysis/compare/target.hpp"

#include "tests/analysis/runs.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;

namespace {

double reached(const std::vector<double>& x, const std::vector<double>& loss, double target) {
  return reached_at(x, loss, target);
}

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("target: on the straight line between two evaluations") {
  CHECK(reached({0, 10, 20}, {4, 3, 1}, 2) == 15);
  CHECK(reached({0, 10, 20}, {4, 3, 1}, 1.5) == 17.5);
  CHECK(reached({0, 10, 20}, {4, 3, 1}, 3.25) == 7.5);
  CHECK(reached({0, 10, 20}, {4, 3, 1}, 3) == 10);
  CHECK(reached({0, 10, 20}, {4, 3, 1}, 1) == 20);
  CHECK(reached({0, 1000, 1100}, {4, 3, 1}, 2) == 1050);
}

TEST_CASE("target: the first time counts, though the loss rises again") {
  CHECK(reached({0, 1, 2, 3}, {4, 2, 5, 1}, 3) == 0.5);
}

TEST_CASE("target: there from the start, and never") {
  CHECK(reached({5, 10}, {4, 3}, 4) == 5);
  CHECK(reached({5, 10}, {4, 3}, 4.5) == 5);  // not where the line through both points crosses 4.5
  CHECK(reached({5}, {4}, 4.5) == 5);
  CHECK(std::isnan(reached({0, 10}, {4, 3}, 2.9)));
  CHECK(std::isnan(reached({}, {}, 1)));
  CHECK(std::isnan(reached({0, 10}, {4, 3}, nan_value)));
}

TEST_CASE("target: losses that are not finite are passed over") {
  CHECK(reached({0, 10, 20}, {4, nan_value, 1}, 2) == 20);
  CHECK(std::isnan(reached({0, 10, 20}, {4, nan_value, nan_value}, 2)));
  CHECK(reached({0, 10, 20}, {std::numeric_limits<double>::infinity(), 3, 1}, 3) == 10);
}

TEST_CASE("target: between evaluations that are far apart, only a bound is known") {
  const std::vector<double> steps = {0, 1, 2, 10, 12, 15, 19}, loss = {9, 8, 7, 6, 5, 4, 3};
  const auto rough = [&](double target) { return is_rough(steps, loss, target); };
  CHECK_FALSE(rough(9));    // the first evaluation
  CHECK_FALSE(rough(8.5));  // one step apart
  CHECK_FALSE(rough(7.5));
  CHECK(rough(6.5));        // 8 of 10 steps
  CHECK_FALSE(rough(5.5));  // 2 of 12
  CHECK_FALSE(rough(4.5));  // 3 of 15: a fifth
  CHECK(rough(3.5));        // 4 of 19
  CHECK_FALSE(rough(2));    // never reached
  CHECK(evaluated_at(steps, loss, 6.5) == 10);
  CHECK(evaluated_at(steps, loss, 6) == 10);
  CHECK(std::isnan(evaluated_at(steps, loss, 2)));
}

TEST_CASE("target: whether the loss falls at every evaluation until it is there") {
  const std::vector<double> loss = {5, 4, 4, 3, 3.5, 2};
  CHECK(falls_until(loss, 3));  // the rise comes later
  CHECK_FALSE(falls_until(loss, 2.5));
  CHECK_FALSE(falls_until(loss, 1));
  CHECK(falls_until(loss, 6));
  const std::vector<double> coarse = {0, 2, 4, 6, 8, 10}, fine = {0, 1, 2, 3, 4, 5};
  CHECK(turns_near(coarse, loss, 2.9));  // 3, then 3.5
  CHECK_FALSE(turns_near(fine, loss, 2.9));
  CHECK_FALSE(turns_near(coarse, loss, 2.5));  // 3 is not near
  CHECK_FALSE(turns_near(coarse, loss, 3));    // reached there
  CHECK_FALSE(turns_near(coarse, loss, 1.9));  // never reached
}

TEST_CASE("target: the lowest loss that every run reached") {
  std::vector<Arm> arms = {make_arm("a", {1, 2}), make_arm("b", {1.5, 3})};
  arms[1].runs[1] = make_run({}, 2, {10, 2.5, 3});  // its best loss is not its last one
  const std::vector<const Arm*> both = {&arms[0], &arms[1]};
  CHECK(common_target(both) == 2.5);
  arms[1].runs[1] = diverged(arms[1].runs[1]);
  CHECK(common_target(both) == 2);
  for (Arm& arm : arms) {
    for (Run& run : arm.runs) run = diverged(run);
  }
  CHECK(std::isnan(common_target(both)));
  CHECK(std::isnan(common_target({})));
}
