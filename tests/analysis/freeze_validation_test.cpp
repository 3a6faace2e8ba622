#include "analysis/freeze_validation.hpp"

#include <cmath>
#include <limits>

#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::analysis;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

const std::vector<DenseTrial> dense = {{1, 1.00, 0.5}, {2, 1.10, 0.5}, {3, 0.90, 0.5}};

/// Final losses of the three seeds at a threshold, which froze them at about `step`.
void add(std::vector<FreezeTrial>& trials, double threshold, Index step, const std::vector<double>& losses) {
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const auto seed = static_cast<std::uint32_t>(i + 1);
    trials.push_back({threshold, seed, step + static_cast<Index>(i), losses[i], 4});
  }
}

}  // namespace

TEST_CASE("freeze validation: thresholds rise, and the earliest safe one has only safe ones behind it") {
  std::vector<FreezeTrial> trials;
  add(trials, 0.96, 40, {1.001, 1.099, 0.9005});  // within 0.12%
  add(trials, 0.5, 10, {1.2, 1.32, 1.08});        // 20% higher, each
  add(trials, 0.9, 20, {0.95, 1.05, 0.86});       // lower
  add(trials, 0.99, 80, {1.0, 1.1, 0.9});         // the same
  const FreezeValidation validation = validate_freeze(dense, trials);
  REQUIRE(validation.rows.size() == 4);
  CHECK(validation.dense_loss.mean == Approx(1.0));
  CHECK(validation.dense_ratio_fp16 == 0.5);
  CHECK(validation.rows[0].threshold == 0.5);
  CHECK(validation.rows[0].verdict == FreezeVerdict::costs);
  CHECK(validation.rows[0].to_dense.relative.mean == Approx(0.2));
  CHECK(validation.rows[0].freeze_step.mean == Approx(11));
  CHECK(validation.rows[0].ratio_fp16 == 4);
  for (std::size_t row : {1u, 2u, 3u}) CHECK(validation.rows[row].verdict == FreezeVerdict::safe);
  REQUIRE(validation.earliest);
  CHECK(validation.rows[*validation.earliest].threshold == 0.9);
}

TEST_CASE("freeze validation: a safe threshold before one that is not safe is luck") {
  std::vector<FreezeTrial> trials;
  add(trials, 0.5, 10, {1.0, 1.1, 0.9});
  add(trials, 0.9, 20, {1.2, 1.32, 1.08});
  add(trials, 0.99, 80, {1.0, 1.1, 0.9});
  const FreezeValidation validation = validate_freeze(dense, trials);
  REQUIRE(validation.earliest);
  CHECK(validation.rows[*validation.earliest].threshold == 0.99);
}

TEST_CASE("freeze validation: an interval that has room for a cost is not safe") {
  std::vector<FreezeTrial> trials;
  add(trials, 0.9, 20, {1.05, 1.05, 0.9});  // 5% higher, 4.5% lower, the same
  const FreezeValidation validation = validate_freeze(dense, trials);
  CHECK(validation.rows.front().to_dense.relative.mean < default_margin);
  CHECK(validation.rows.front().verdict == FreezeVerdict::not_resolved);
  CHECK(validate_freeze(dense, trials, 0.5).rows.front().verdict == FreezeVerdict::safe);  // below 50% it is
}

TEST_CASE("freeze validation: what was not reached says nothing, what diverged is not safe") {
  std::vector<FreezeTrial> trials;
  add(trials, 0.9, 20, {1.0, nan_value, 0.9});
  for (const DenseTrial& trial : dense) trials.push_back({0.999, trial.seed, 0, nan_value, nan_value});
  const FreezeValidation validation = validate_freeze(dense, trials);
  REQUIRE(validation.rows.size() == 2);
  CHECK(validation.rows[0].diverged == 1);
  CHECK(validation.rows[0].reached == 3);
  CHECK(validation.rows[0].final_loss.count == 2);
  CHECK(validation.rows[0].verdict == FreezeVerdict::costs);
  CHECK(validation.rows[1].reached == 0);
  CHECK(validation.rows[1].seeds == 3);
  CHECK_FALSE(validation.earliest);
  CHECK(validate_freeze({}, trials).rows.front().seeds == 0);
}

TEST_CASE("freeze validation: one seed has no interval, and none of its thresholds is called safe") {
  const FreezeValidation validation =
      validate_freeze(std::vector<DenseTrial>{{1, 1.0, 0.5}}, std::vector<FreezeTrial>{{0.9, 1, 20, 1.0, 4}});
  CHECK(std::isnan(validation.rows.front().final_loss.half_width));
  CHECK(validation.rows.front().verdict == FreezeVerdict::not_resolved);
}
