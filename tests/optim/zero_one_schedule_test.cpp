// When 0/1 Adam communicates: strings and counts of the released schedule.
#include "optim/zero_one/zero_one_schedule.hpp"

#include <map>

#include "tests/catch.hpp"
#include "tests/optim/training.hpp"

using namespace onebit;
using namespace onebit::optim;
using namespace onebit::tests;

namespace {

std::string rounds(const ZeroOneConfig& config, Index steps) {
  ZeroOneSchedule schedule(config);
  std::string text;
  for (Index step = 1; step <= steps; ++step) text += "F1S."[static_cast<int>(schedule.next())];
  return text;
}

/// Returns the number of steps of each kind of round. It prints no rounds, because a run may have 152,000.
std::map<Round, Index> counts(const ZeroOneConfig& config, Index steps, Index last_step = 0) {
  ZeroOneSchedule schedule(config, last_step);
  std::map<Round, Index> result;
  for (Index step = 1; step <= steps; ++step) ++result[schedule.next()];
  return result;
}

using Counts = std::map<Round, Index>;

}  // namespace

TEST_CASE("0/1 Adam's schedule: full and 1-bit rounds, then local steps with ever rarer sync rounds") {
  const ZeroOneConfig config{
      .var_freeze_step = 20, .var_update_scaler = 2, .local_step_scaler = 4, .local_step_clipper = 4};
  CHECK(rounds(config, 60) == "FFF1F1F111F111F11111SSSSS.S...S...S...S...S...S...S...S...S.");
}

TEST_CASE("0/1 Adam's schedule: the variance is updated at multiples of a doubling interval") {
  const auto updates = [](Index scaler, Index steps) {
    const std::string text = rounds({.var_update_scaler = scaler}, steps);
    std::vector<Index> found;  // steps counted with the dry run
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == 'F') found.push_back(static_cast<Index>(i) + 2);
    }
    return found;
  };
  CHECK(updates(2, 200) == std::vector<Index>{2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192});
  const std::vector<Index> sixteen = updates(16, 260);
  REQUIRE(sixteen.size() > 60);
  CHECK(sixteen[15] == 17);
  CHECK(sixteen[16] == 18);
  CHECK(sixteen[31] == 48);
  CHECK(sixteen[32] == 52);
  CHECK(sixteen[48] == 120);
}

TEST_CASE("0/1 Adam's schedule: a constant interval is a clipper reached by doubling every step") {
  const ZeroOneConfig config{.var_freeze_step = 1, .local_step_scaler = 1, .local_step_clipper = 8};
  const std::string text = rounds(config, 40);
  CHECK(text.substr(text.find('S', 10)).substr(0, 17) == "S.......S.......S");
  CHECK(rounds({.var_freeze_step = 1, .local_step_scaler = 1, .local_step_clipper = 1}, 5) == "FSSSS");
}

TEST_CASE("0/1 Adam's schedule: round counts of published configurations") {
  const ZeroOneConfig bert{.var_freeze_step = 12500};
  CHECK(counts(bert, 118000) ==
        Counts{{Round::full, 153}, {Round::one_bit, 12347}, {Round::sync, 58120}, {Round::silent, 47380}});
  CHECK(counts({}, 100000) == Counts{{Round::full, 201}, {Round::one_bit, 99799}});
  const ZeroOneConfig tutorial{.var_freeze_step = 1000, .local_step_scaler = 1000};
  CHECK(counts(tutorial, 10000) ==
        Counts{{Round::full, 96}, {Round::one_bit, 904}, {Round::sync, 2188}, {Round::silent, 6812}});
  CHECK(counts(tutorial, 100000) ==
        Counts{{Round::full, 96}, {Round::one_bit, 904}, {Round::sync, 7813}, {Round::silent, 91187}});
}

TEST_CASE("0/1 Adam's schedule: a run whose last step is not silent ends with one pattern more") {
  const ZeroOneConfig bert{.var_freeze_step = 12500};
  for (const auto& [steps, one_bit] : std::vector<std::pair<Index, Index>>{{118000, 70468}, {152000, 74169}}) {
    Counts with = counts(bert, steps, steps), without = counts(bert, steps);
    CAPTURE(steps);
    CHECK(with[Round::full] == 153);
    CHECK(with[Round::one_bit] + with[Round::sync] == one_bit);
    CHECK(with[Round::sync] == without[Round::sync] + 1);
    CHECK(with[Round::silent] == without[Round::silent] - 1);
  }
}

TEST_CASE("0/1 Adam names the interval that is out of range") {
  const auto refused = [](Index ZeroOneConfig::*field) {
    ZeroOneConfig config;
    config.*field = 0;
    return refusal([&] { check_zero_one(config); });
  };
  CHECK(refused(&ZeroOneConfig::var_freeze_step) ==
        "optimizer option out of range (optimizer.var-freeze-step 0); at least 1");
  CHECK(contains(refused(&ZeroOneConfig::var_update_scaler), "(optimizer.var-update-scaler 0)"));
  CHECK(contains(refused(&ZeroOneConfig::local_step_scaler), "(optimizer.local-step-scaler 0)"));
  CHECK(contains(refused(&ZeroOneConfig::local_step_clipper), "(optimizer.local-step-clipper 0)"));
  CHECK(refusal([] { check_zero_one({}); }) == "accepted");
}
