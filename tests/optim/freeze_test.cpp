#include "optim/two_stage/freeze.hpp"

#include <cmath>
#include <limits>

#include "tests/catch.hpp"
#include "tests/optim/training.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

const double kNone = std::nan("");

/// Returns stabilities in which the stored variance and the one that preconditions have the same ratio.
Stability both(double ratio) {
  return {ratio, ratio};
}

FreezePolicy policy(const std::string& text, Index total_steps = 100) {
  return {{.policy = text}, total_steps, 0, 0.999};
}

std::string message(const FreezeConfig& config) {
  return refusal([&] { FreezePolicy(config, 100, 0, 0.999); });
}

}  // namespace

TEST_CASE("fixed:K freezes after K dense updates, whatever the ratio") {
  FreezePolicy fixed = policy("fixed:12");
  CHECK(fixed.kind() == FreezePolicy::Kind::fixed);
  CHECK(fixed.fixed_updates() == 12);
  CHECK_FALSE(fixed.freeze_now(11, both(1.0)));
  CHECK(fixed.freeze_now(12, both(kNone)));
  CHECK(fixed.freeze_now(13, both(0.0)));
}

TEST_CASE("fraction:F is the nearest number of steps, at least one") {
  CHECK(policy("fraction:0.25", 1000).fixed_updates() == 250);
  CHECK(policy("fraction:0.25", 10).fixed_updates() == 3);
  CHECK(policy("fraction:0.001", 10).fixed_updates() == 1);
  CHECK(policy("fraction:1e-1", 10).fixed_updates() == 1);
}

TEST_CASE("the default freezes after 15 % of the run") {
  const FreezePolicy standard({}, 2000, 0, 0.999);
  CHECK(standard.kind() == FreezePolicy::Kind::fixed);
  CHECK(standard.fixed_updates() == 300);
}

TEST_CASE("the policy never does not freeze") {
  CHECK(policy("never").kind() == FreezePolicy::Kind::never);
  CHECK_FALSE(policy("never").freeze_now(1'000'000, both(1.0)));
}

TEST_CASE("auto freezes where the ratio of what preconditions has stayed, after the learning-rate warm-up") {
  const FreezeConfig config = {.policy = "auto", .threshold = 0.9, .lag = 4, .after = 5, .dwell = 3};
  FreezePolicy automatic(config, 100, 7, 0.999);
  CHECK(automatic.kind() == FreezePolicy::Kind::automatic);
  CHECK_FALSE(automatic.freeze_now(6, both(1.0)));  // does not count: 7 updates of warm-up
  CHECK_FALSE(automatic.freeze_now(7, both(0.9)));
  CHECK_FALSE(automatic.freeze_now(8, {0.1, 0.95}));
  CHECK(automatic.freeze_now(9, {0.1, 0.9}));
  FreezePolicy broken(config, 100, 0, 0.999);
  CHECK_FALSE(broken.freeze_now(5, both(1.0)));
  CHECK_FALSE(broken.freeze_now(6, {1.0, 0.8999}));
  CHECK_FALSE(broken.freeze_now(7, both(1.0)));
  CHECK_FALSE(broken.freeze_now(8, both(kNone)));
  CHECK(broken.freeze_now(9, both(1.0)));
}

TEST_CASE("published freezes where the ratio of the stored variance touches the threshold") {
  const FreezeConfig config = {.policy = "published", .threshold = 0.9, .lag = 4, .after = 9, .dwell = 50};
  FreezePolicy published(config, 100, 7, 0.999);
  CHECK(published.kind() == FreezePolicy::Kind::published);
  CHECK_FALSE(published.freeze_now(8, both(1.0)));
  CHECK_FALSE(published.freeze_now(9, {0.8999, 1.0}));
  CHECK(published.freeze_now(10, {0.9, 0.1}));
}

TEST_CASE("the dwell is a tenth of the lag unless it is given, at least one step") {
  CHECK(default_dwell(1000) == 100);
  CHECK(default_dwell(9) == 1);
  FreezePolicy short_lag({.policy = "auto", .threshold = 0.5, .lag = 20}, 100, 0, 0.999);
  CHECK_FALSE(short_lag.freeze_now(21, both(1.0)));
  CHECK(short_lag.freeze_now(22, both(1.0)));
}

TEST_CASE("the lag is the memory of the variance unless it is given") {
  CHECK(policy("auto", 5000).lag() == 1000);
  CHECK(FreezePolicy({}, 100, 0, 0.9).lag() == 10);
  CHECK(FreezePolicy({}, 100, 0, 0.0).lag() == 1);
  CHECK(FreezePolicy({.lag = 25}, 100, 0, 0.999).lag() == 25);
}

TEST_CASE("malformed policies are refused with the valid forms") {
  for (const char* text : {"fixed", "fixed:", "fixed:x", "fixed:5x", "fixed:1.5", "fixed: 5",
                           "fixed:99999999999999999999", "fraction", "fraction:", "fraction:half", "fraction:0.5 "}) {
    CAPTURE(text);
    CHECK(message({.policy = text}) == "malformed freeze policy (freeze " + std::string(text) +
                                           "); use fixed:K, fraction:F, auto, published or never");
  }
  for (const char* text : {"", "Fixed:5", "auto:5", "never:5", "soon", ":5"}) {
    CAPTURE(text);
    CHECK(contains(message({.policy = text}), "unknown freeze policy"));
  }
  CHECK(message({.policy = "0.2"}) == "unknown freeze policy (freeze 0.2); did you mean fraction:0.2?");
  CHECK(message({.policy = "40"}) == "unknown freeze policy (freeze 40); did you mean fixed:40?");
}

TEST_CASE("freeze numbers out of range are refused") {
  CHECK(contains(message({.policy = "fixed:-1"}), "negative number of dense updates"));
  for (const char* text : {"fraction:0", "fraction:1", "fraction:-0.5", "fraction:nan", "fraction:inf"}) {
    CAPTURE(text);
    CHECK(contains(message({.policy = text}), "freeze fraction out of range"));
  }
  for (const double threshold : {0.0, -1.0, 1.001, kNone}) {
    CHECK(contains(message({.threshold = threshold}), "freeze.threshold"));
  }
  CHECK(contains(message({.lag = -1}), "freeze.lag"));
  CHECK(contains(message({.after = -1}), "freeze.after"));
  CHECK(contains(message({.dwell = -1}), "freeze.dwell"));
}

TEST_CASE("a freeze at or beyond the end of the run is refused") {
  CHECK(contains(refusal([] { policy("fixed:100", 100); }), "never reach the compression stage"));
  CHECK(contains(refusal([] { policy("fixed:5000", 100); }), "never reach the compression stage"));
  CHECK(contains(refusal([] { policy("fraction:0.999", 10); }), "never reach the compression stage"));
  constexpr Index huge = std::numeric_limits<Index>::max();
  for (const FreezeConfig& config : {FreezeConfig{.policy = "auto", .lag = huge},
                                     {.policy = "auto", .after = huge},
                                     {.policy = "auto", .dwell = huge}})
    CHECK(contains(refusal([&] { FreezePolicy(config, 100, 0, 0.999); }), "0 to 2^40 steps"));
  CHECK(refusal([] { policy("fixed:99", 100); }) == "accepted");
}

TEST_CASE("auto is refused where its earliest freeze is at or beyond the end of the run") {
  const auto accepted = [](const FreezeConfig& config, Index total_steps, Index lr_warmup) {
    return refusal([&] { FreezePolicy(config, total_steps, lr_warmup, 0.999); }) == "accepted";
  };
  CHECK_FALSE(accepted({.policy = "published"}, 1001, 0));  // the first ratio comes after update 1001
  CHECK(accepted({.policy = "published"}, 1002, 0));
  CHECK_FALSE(accepted({.policy = "auto"}, 1100, 0));  // and has to stay for 100 steps
  CHECK(accepted({.policy = "auto"}, 1101, 0));
  CHECK_FALSE(accepted({.policy = "auto", .lag = 10, .after = 50}, 50, 0));
  CHECK(accepted({.policy = "auto", .lag = 10, .after = 50}, 51, 0));
  CHECK_FALSE(accepted({.policy = "auto", .lag = 10}, 60, 60));
  CHECK(accepted({.policy = "never"}, 1, 0));
}
