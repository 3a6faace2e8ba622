// Costs of the freeze and of compression, from outcomes written by hand.

#include "analysis/freeze/freeze_validation.hpp"

#include <cmath>
#include <limits>

#include "device/base/error.hpp"
#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::analysis;
using Catch::Matchers::Contains;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr Index kSeeds = 5;  // the first two choose

/// Dense runs that end 1 above the reference 0.5 on average.
std::vector<DenseTrial> dense_trials() {
  std::vector<DenseTrial> dense;
  for (const double loss : {1.5, 1.6, 1.4, 1.5, 1.5})
    dense.push_back({static_cast<std::uint32_t>(dense.size() + 1), {.loss = loss, .accuracy = 0.9, .steps = 100}});
  return dense;
}

/// Adds trials of a candidate in which freezing and compressing have these costs, in units of the dense excess; NaN:
/// diverged.
void add(std::vector<FreezeTrial>& trials, std::size_t candidate, const std::vector<double>& freeze,
         const std::vector<double>& compression) {
  const std::vector<DenseTrial> dense = dense_trials();
  for (std::size_t s = 0; s < dense.size(); ++s) {
    const double frozen = dense[s].outcome.loss + freeze[s];
    trials.push_back({candidate,
                      dense[s].seed,
                      100 * static_cast<Index>(candidate + 1),
                      {.loss = frozen, .ratio_fp16 = 0.5},
                      {{.loss = frozen + compression[s], .ratio_fp16 = 4}}});
  }
}

FreezeValidation validate(const std::vector<std::string>& candidates, const std::vector<FreezeTrial>& trials,
                          double margin = 0.05) {
  const FreezeCriterion criterion{.margin = margin, .reference = 0.5, .choosing = 2};
  return validate_freeze(candidates, {"compressed"}, dense_trials(), trials, criterion);
}

const std::vector<double> kNothing(kSeeds, 0.0);

}  // namespace

TEST_CASE("freeze validation: the freeze and the compression have costs of their own, of what the dense runs exceed") {
  std::vector<FreezeTrial> trials;
  add(trials, 0, {0.02, 0.02, 0.01, 0.02, 0.03}, {0.2, 0.2, 0.1, 0.2, 0.3});
  const FreezeValidation validation = validate({"0.9"}, trials);
  CHECK(validation.choosing == std::vector<std::uint32_t>{1, 2});
  CHECK(validation.judging == std::vector<std::uint32_t>{3, 4, 5});
  CHECK(validation.comparisons == 2);
  CHECK(validation.dense_loss.mean == Approx(1.5));
  const FreezeRow& row = validation.rows.front();
  CHECK(row.candidate == "0.9");
  CHECK(row.reached == 5);
  CHECK(row.freeze_step.mean == 100);
  CHECK(row.freeze.interval.mean == Approx(0.02));
  CHECK(row.freeze.by_seed[4] == Approx(0.03));
  // Two verdicts: intervals of 97.5%, t(0.9875; 4) = 3.4954; s^2 = 2 * 0.01^2 / 4.
  CHECK(row.freeze.interval.half_width == Approx(3.4954 * std::sqrt(0.00005) / std::sqrt(5)).epsilon(1e-4));
  CHECK(row.arms[0].compression.interval.mean == Approx(0.2));
  CHECK(row.arms[0].together.interval.mean == Approx(0.22));
  CHECK(row.arms[0].ratio_fp16 == 4);
}

TEST_CASE("freeze validation: a measurable cost inside the margin is safe, and is said") {
  std::vector<FreezeTrial> trials;
  add(trials, 0, {0.010, 0.012, 0.010, 0.011, 0.012}, kNothing);
  add(trials, 1, {0, 0, -0.001, 0.001, 0}, kNothing);
  add(trials, 2, {-0.010, -0.012, -0.010, -0.011, -0.012}, kNothing);
  const FreezeValidation validation = validate({"a", "b", "c"}, trials);
  CHECK(validation.rows[0].freeze.verdict == FreezeVerdict::safe_but_worse);
  CHECK(validation.rows[1].freeze.verdict == FreezeVerdict::safe);
  CHECK(validation.rows[2].freeze.verdict == FreezeVerdict::safe);
  CHECK(name(FreezeVerdict::safe_but_worse) == "safe, measurably worse");
}

TEST_CASE("freeze validation: one seed beyond the margin costs, whatever the mean says") {
  std::vector<FreezeTrial> trials;
  add(trials, 0, {0, 0, -0.10, 0.051, -0.10}, kNothing);
  const FreezeValidation validation = validate({"a"}, trials);
  CHECK(validation.rows[0].freeze.verdict == FreezeVerdict::costs);
  CHECK(validation.rows[0].freeze.reason == "seed 4 is beyond the margin");
  CHECK(validation.rows[0].freeze.more_seeds == 0);
  trials.clear();
  add(trials, 0, {0.051, 0, -0.10, 0, -0.10}, kNothing);
  CHECK(validate({"a"}, trials).rows[0].freeze.reason == "seed 1 is beyond the margin");
}

TEST_CASE("freeze validation: where every seed is inside and the interval is not, it says how many would decide") {
  std::vector<FreezeTrial> trials;
  add(trials, 0, {0.01, 0.02, -0.02, 0.049, 0.041}, kNothing);
  const FreezeCost cost = validate({"a"}, trials).rows[0].freeze;
  CHECK(cost.verdict == FreezeVerdict::unclear);
  const double deviation = std::sqrt((0.0001 + 0 + 0.0016 + 0.000841 + 0.000441) / 4);  // the mean is 0.02
  CHECK(cost.more_seeds == seeds_needed(deviation, 0.03, 0.975, verdict_power) - 5);
  CHECK(cost.more_seeds > 0);
  CHECK(cost.reason.empty());
}

TEST_CASE("freeze validation: a run that diverged costs, and compression is not blamed on the freeze") {
  std::vector<FreezeTrial> trials;
  add(trials, 0, kNothing, {0, 0, nan_value, 0, 0});
  const FreezeRow row = validate({"a"}, trials).rows[0];
  CHECK(row.freeze.verdict == FreezeVerdict::safe);
  CHECK(std::isinf(row.arms[0].compression.by_seed[2]));
  CHECK(row.arms[0].together.verdict == FreezeVerdict::costs);
  CHECK_THAT(row.arms[0].together.reason, Contains("seed 3 diverged"));
  CHECK(std::isnan(row.arms[0].together.interval.mean));
  CHECK(row.arms[0].together.interval.count == 0);
}

TEST_CASE("freeze validation: what the frozen run lost is not the compression's") {
  std::vector<FreezeTrial> trials;
  add(trials, 0, {0, 0, nan_value, 0, 0}, kNothing);
  const FreezeRow row = validate({"a"}, trials).rows[0];
  CHECK(row.freeze.verdict == FreezeVerdict::costs);
  CHECK(std::isnan(row.arms[0].compression.by_seed[2]));
  CHECK(row.arms[0].compression.verdict == FreezeVerdict::unclear);
  CHECK(row.arms[0].compression.reason == "not tried with 1 of 5 seeds");
}

TEST_CASE("freeze validation: a dense run that diverged is named") {
  std::vector<DenseTrial> dense = dense_trials();
  dense[1].outcome.loss = nan_value;
  std::vector<FreezeTrial> trials;
  add(trials, 0, kNothing, kNothing);
  CHECK_THROWS_WITH(validate_freeze({"a"}, {"compressed"}, dense, trials, {.reference = 0.5, .choosing = 2}),
                    Contains("the dense run diverged") && Contains("seed 2"));
}

TEST_CASE("freeze validation: the earliest candidate that the choosing seeds found safe is judged by the others") {
  std::vector<FreezeTrial> trials;
  add(trials, 0, kNothing, {0, 0, 0, 0, 0});         // safe, but a later one is not
  add(trials, 1, kNothing, {0, 0.06, 0, 0, 0});      // a choosing seed exceeds the margin
  add(trials, 2, kNothing, {0, 0.04, 0.2, 0.2, 0});  // the judging seeds do not count here
  add(trials, 3, kNothing, kNothing);
  const FreezeValidation validation = validate({"a", "b", "c", "d", "e"}, trials);  // no seed reached e
  REQUIRE(validation.choice);
  CHECK(validation.choice->row == 2);
  CHECK(validation.choice->freeze.verdict == FreezeVerdict::safe);
  CHECK(validation.choice->together.verdict == FreezeVerdict::costs);
  // Two verdicts on the choice: t(0.9875; 2) = 6.2053; 0.2, 0.2 and 0 have s = 0.2 / sqrt(3).
  CHECK(validation.choice->together.interval.half_width == Approx(6.2053 * 0.2 / 3).epsilon(1e-4));
  CHECK(validation.rows[4].reached == 0);
  CHECK(validation.rows[4].freeze.reason == "not tried with 5 of 5 seeds");
  trials.clear();
  add(trials, 0, kNothing, {0.1, 0, 0, 0, 0});
  CHECK_FALSE(validate({"a"}, trials).choice);
}

TEST_CASE("freeze validation: accuracy in shares, steps to a target as shares of the dense run's") {
  std::vector<FreezeTrial> trials;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    const FreezeOutcome frozen{.loss = 3, .accuracy = 0.895, .steps = 104};
    const FreezeOutcome compressed{.loss = 3, .accuracy = 0.8, .steps = nan_value};
    trials.push_back({0, seed, 10, frozen, {compressed}});
  }
  const FreezeCriterion accuracy{.measure = FreezeMeasure::accuracy, .margin = 0.01, .reference = 2, .choosing = 2};
  // It does not matter here that the dense runs' loss is below the reference.
  const FreezeRow points = validate_freeze({"a"}, {"compressed"}, dense_trials(), trials, accuracy).rows[0];
  CHECK(points.freeze.interval.mean == Approx(0.005));
  CHECK(points.freeze.verdict == FreezeVerdict::safe_but_worse);
  CHECK(points.arms[0].together.interval.mean == Approx(0.1));
  CHECK(points.arms[0].together.verdict == FreezeVerdict::costs);
  const FreezeCriterion steps{.measure = FreezeMeasure::steps, .margin = 0.05, .choosing = 2};
  const FreezeRow longer = validate_freeze({"a"}, {"compressed"}, dense_trials(), trials, steps).rows[0];
  CHECK(longer.freeze.interval.mean == Approx(0.04));
  CHECK(std::isinf(longer.arms[0].together.by_seed[0]));
}

TEST_CASE("freeze validation: a measure that says nothing of the dense runs is refused") {
  const auto refused = [](const FreezeCriterion& criterion, const std::string& why) {
    std::vector<DenseTrial> dense = dense_trials();
    dense[1].outcome.accuracy = dense[1].outcome.steps = nan_value;
    CHECK_THROWS_WITH(validate_freeze({"a"}, {"compressed"}, dense, {}, criterion), Contains(why));
  };
  refused({.reference = 1.5}, "at or below the reference");
  refused({.measure = FreezeMeasure::accuracy}, "no accuracy");
  refused({.measure = FreezeMeasure::steps}, "does not reach the target (seed 2)");
}
