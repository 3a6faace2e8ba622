#include "optim/schedule.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/optim/training.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

TEST_CASE("constant: the base rate after a linear warm-up") {
  const Schedule plain({.name = "constant"});
  CHECK(plain.factor(1) == 1);
  CHECK(plain.factor(1'000'000) == 1);
  const Schedule warm({.name = "constant", .warmup = 4});
  CHECK(warm.warmup() == 4);
  CHECK(warm.factor(1) == 0.25);
  CHECK(warm.factor(3) == 0.75);
  CHECK(warm.factor(4) == 1);
  CHECK(warm.factor(5) == 1);
}

TEST_CASE("exponential: decay per decay-steps after the warm-up, continuously") {
  const Schedule schedule({.name = "exponential", .warmup = 10, .decay = 0.5, .decay_steps = 4});
  CHECK(schedule.factor(5) == 0.5);
  CHECK(schedule.factor(10) == 1);
  CHECK(schedule.factor(12) == Approx(std::sqrt(0.5)));
  CHECK(schedule.factor(14) == Approx(0.5));
  CHECK(schedule.factor(22) == Approx(0.125));
}

TEST_CASE("cosine: down to the final factor at the last step, and no further") {
  const Schedule schedule({.name = "cosine", .warmup = 2, .final = 0.1, .total_steps = 12});
  CHECK(schedule.factor(1) == 0.5);
  CHECK(schedule.factor(2) == 1);
  CHECK(schedule.factor(7) == Approx(0.55));
  CHECK(schedule.factor(12) == Approx(0.1));
  CHECK(schedule.factor(100) == Approx(0.1));
  const Schedule all_warmup({.name = "cosine", .warmup = 12, .total_steps = 12});
  CHECK(all_warmup.factor(12) == 1);
}

TEST_CASE("step: times decay every decay-steps steps after the warm-up") {
  const Schedule schedule({.name = "step", .warmup = 3, .decay = 0.1, .decay_steps = 5});
  CHECK(schedule.factor(3) == 1);
  CHECK(schedule.factor(7) == 1);
  CHECK(schedule.factor(8) == Approx(0.1));
  CHECK(schedule.factor(12) == Approx(0.1));
  CHECK(schedule.factor(13) == Approx(0.01));
}

TEST_CASE("every schedule of the table starts at its base rate and stays between 0 and 1") {
  for (const ScheduleEntry& entry : schedules()) {
    CAPTURE(entry.name);
    CHECK_FALSE(entry.doc.empty());
    const Schedule schedule({.name = std::string(entry.name), .warmup = 5, .total_steps = 50});
    CHECK(schedule.factor(5) == 1);
    for (Index step = 1; step <= 60; ++step) {
      CHECK(schedule.factor(step) >= 0);
      CHECK(schedule.factor(step) <= 1);
    }
  }
}

TEST_CASE("schedule options out of range are named") {
  const auto message = [](const ScheduleConfig& config) { return refusal([&] { Schedule{config}; }); };
  const double nan = std::nan("");
  CHECK(contains(message({.warmup = -1}), "schedule.warmup"));
  CHECK(contains(message({.decay = 0}), "schedule.decay "));
  CHECK(contains(message({.decay = 1.5}), "schedule.decay "));
  CHECK(contains(message({.decay = nan}), "schedule.decay "));
  CHECK(contains(message({.decay_steps = 0}), "schedule.decay-steps"));
  CHECK(contains(message({.final = -0.1}), "schedule.final"));
  CHECK(contains(message({.final = nan}), "schedule.final"));
  CHECK(message({.name = "cosin"}) == "unknown schedule (cosin); did you mean cosine?");
}
