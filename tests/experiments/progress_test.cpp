// Speeds, remaining times and the fitting of lines, without the program.

#include "experiments/cli/progress.hpp"

#include <cmath>

#include "experiments/output/screen.hpp"
#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::experiments;

namespace {

/// A job of `all` units, unit i of which takes `seconds(i)`; reports every tenth of a second.
template <class Seconds, class Check>
void run_job(int all, const Seconds& seconds, const Check& check) {
  Pace pace;
  pace.note(0, all, 0);
  double total = 0;
  for (int i = 0; i < all; ++i) total += seconds(i);
  double now = 0, next = seconds(0);
  int done = 0;
  for (int tick = 1; done < all; ++tick) {
    now = 0.1 * tick;
    while (done < all && next <= now) next += seconds(++done);
    pace.note(done, all, now);
    check(pace, now, std::max(0.0, total - now));
  }
}

}  // namespace

TEST_CASE("progress: a steady job's remaining time is right, and only falls") {
  double before = 1e9;
  run_job(
      600, [](int) { return 0.05; },
      [&](const Pace& pace, double now, double left) {
        if (now < 1) return;
        CAPTURE(now);
        CHECK(pace.seconds_left() == Approx(left).margin(0.3));
        CHECK(pace.rate() == Approx(20).epsilon(0.1));
        CHECK(pace.seconds_left() <= before);
        before = pace.seconds_left();
      });
}

TEST_CASE("progress: long units now and then neither stop the countdown nor make it jump") {
  double before = -1;
  const auto seconds = [](int i) { return i % 50 == 49 ? 2.0 : 0.05; };  // evaluations
  run_job(2000, seconds, [&](const Pace& pace, double now, double left) {
    if (now < 20) return;
    CAPTURE(now, left);
    CHECK(pace.seconds_left() == Approx(left).epsilon(0.25).margin(4));
    if (before >= 0) CHECK(pace.seconds_left() <= before + 0.5);
    before = pace.seconds_left();
  });
}

TEST_CASE("progress: few long units, as in a sweep, are counted down between their ends") {
  double before = -1;
  run_job(
      10, [](int) { return 20.0; },
      [&](const Pace& pace, double now, double left) {
        if (now < 20.5) return;
        CAPTURE(now, left);
        CHECK(pace.seconds_left() == Approx(left).margin(2));
        if (before >= 0) CHECK(pace.seconds_left() <= before);
        before = pace.seconds_left();
      });
}

TEST_CASE("progress: a job that becomes slower is noticed within a minute") {
  run_job(
      2000, [](int i) { return i < 1000 ? 0.02 : 0.2; },
      [&](const Pace& pace, double now, double left) {
        if (now > 90) CHECK(pace.seconds_left() == Approx(left).epsilon(0.35).margin(4));
      });
}

TEST_CASE("progress: a short job that becomes faster is soon seen to, and nothing is left at its end") {
  Pace pace;
  pace.note(0, 20, 0);
  pace.note(1, 20, 1);  // 19 more seconds, if all took as long
  CHECK(pace.seconds_left() == Approx(19));
  for (int tick = 1; tick <= 70; ++tick) pace.note(1 + tick / 4, 20, 1 + 0.1 * tick);
  CHECK(pace.seconds_left() < 3);  // 18 are done, and 2 take 0.8 s
  pace.note(20, 20, 9);
  CHECK(pace.seconds_left() == 0);
}

TEST_CASE("progress: what was done before the start does not count") {
  Pace pace;
  pace.note(900, 1000, 5);
  CHECK(std::isnan(pace.rate()));
  CHECK(std::isnan(pace.seconds_left()));
  pace.note(910, 1000, 6);
  CHECK(pace.rate() == Approx(10));
  CHECK(pace.seconds_left() == Approx(9));
}

TEST_CASE("progress: the least important parts are left out, and the rest is cut") {
  const std::vector<ProgressPart> parts = {{"adam", 2}, {"[####]", 3}, {"10/20", 0}, {"ETA 0:05", 1}, {"", 4}};
  CHECK(progress_text(parts, 0) == "adam  [####]  10/20  ETA 0:05");
  CHECK(progress_text(parts, 29) == "adam  [####]  10/20  ETA 0:05");
  CHECK(progress_text(parts, 28) == "adam  10/20  ETA 0:05");
  CHECK(progress_text(parts, 20) == "10/20  ETA 0:05");
  CHECK(progress_text(parts, 14) == "10/20");
  CHECK(progress_text(parts, 4) == "10/…");
  CHECK(progress_text({{"a\033[31m\n", 0}}, 80) == "a\\x1b[31m\\x0a");
}

TEST_CASE("progress: times are read as on a clock") {
  CHECK(clock_text(0) == "0:00");
  CHECK(clock_text(64.2) == "1:05");
  CHECK(clock_text(7800) == "2:10:00");
}

TEST_CASE("screen: lines are broken at blanks, and long words are divided") {
  using Lines = std::vector<std::string>;
  CHECK(wrapped("one two three", 0) == Lines{"one two three"});
  CHECK(wrapped("one two three", 13) == Lines{"one two three"});
  CHECK(wrapped("one two three", 8) == Lines{"one two", "three"});
  CHECK(wrapped("one two three", 9, 2) == Lines{"one two", "  three"});
  CHECK(wrapped("  indented text", 10, 4) == Lines{"  indented", "    text"});
  CHECK(wrapped("abcdefgh ij", 4) == Lines{"abcd", "efgh", "ij"});
  CHECK(wrapped("±±± ±±", 4) == Lines{"±±±", "±±"});
  CHECK(wrapped("", 4) == Lines{""});
  CHECK(shortened("±±±±", 4) == "±±±±");
  CHECK(shortened("±±±±±", 4) == "±±±…");
  CHECK(shortened("abc", 0).empty());
}
