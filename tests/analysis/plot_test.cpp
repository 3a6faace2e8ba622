#include "analysis/pictures/plot.hpp"

#include <sys/stat.h>
#include <sys/time.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "analysis/pictures/gnuplot.hpp"
#include "device/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/sim/log/log_fixture.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

const bool gnuplot = std::system("command -v gnuplot >/dev/null 2>&1") == 0;

Plot sample() {
  return {.title = "A title",
          .x_label = "step",
          .y_label = "loss",
          .curves = {{.label = "one", .x = {1, 2, 3}, .y = {3, 2, 1}, .mark_x = 2},
                     {.label = "two", .x = {1, 2, 3}, .y = {1, std::nan(""), 1}}}};
}

/// Sets an environment variable during its lifetime.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name), before_(std::getenv(name)) {
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { setenv(name_, before_.c_str(), 1); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::string before_;
};

}  // namespace

TEST_CASE("plot: an SVG and a PNG are written") {
  ONEBIT_SKIP_UNLESS(gnuplot, "gnuplot", "no gnuplot");
  const Folder folder;
  CHECK(draw(sample(), folder / "p") == std::vector<std::string>{folder / "p.svg", folder / "p.png"});
  const std::string svg = read_file(folder / "p.svg");
  CHECK_THAT(svg, Contains("A title") && Contains("one") && Contains("two") && Contains("</svg>"));
  CHECK_THAT(read_file(folder / "p.png"), StartsWith("\x89PNG"));
  CHECK(read_file(folder / "p.png").size() > 2000);
}

TEST_CASE("plot: dots that come first are drawn") {
  ONEBIT_SKIP_UNLESS(gnuplot, "gnuplot", "no gnuplot");
  const Folder folder;
  Plot plot = sample();
  plot.curves = {{.label = "", .x = {1, 2}, .y = {1, 2}, .dots = true}};
  CHECK(draw(plot, folder / "p").size() == 2);  // UBSan would report a look-up of a curve before the first
}

TEST_CASE("plot: dots, and logarithmic axes without what has no logarithm") {
  ONEBIT_SKIP_UNLESS(gnuplot, "gnuplot", "no gnuplot");
  const Folder folder;
  Plot plot = sample();
  plot.log_x = plot.log_y = true;
  plot.curves = {{.label = "line", .x = {1, 10, 100}, .y = {1, 0, 0.01}},
                 {.label = "", .x = {1, 10}, .y = {1, -1}, .dots = true}};
  CHECK(draw(plot, folder / "p").size() == 2);
  CHECK_THAT(read_file(folder / "p.svg"), Contains("line") && Contains("</svg>"));
}

TEST_CASE("plot: the marks of curves that share a colour have different shapes") {
  ONEBIT_SKIP_UNLESS(gnuplot, "gnuplot", "no gnuplot");
  const Folder folder;
  const auto squares = [&](int curves) {
    Plot plot = sample();
    plot.curves.clear();
    for (int c = 0; c < curves; ++c) {
      plot.curves.push_back({.label = "c" + std::to_string(c), .x = {1, 2}, .y = {1.0 + c, 2}, .marks = true});
    }
    draw(plot, folder / "p");
    const std::string svg = read_file(folder / "p.svg"), square = "'#gpPt4'";
    Index count = 0;
    for (std::size_t at = svg.find(square); at != svg.npos; at = svg.find(square, at + 1)) ++count;
    return count;
  };
  CHECK(squares(9) == squares(7) + 2 * 3);  // two points and one in the legend for each of the last two
}

TEST_CASE("plot: texts are drawn as they are, and run nothing") {
  ONEBIT_SKIP_UNLESS(gnuplot, "gnuplot", "no gnuplot");
  const Folder folder;
  Plot plot = sample();
  plot.curves[0].label = "it's 'so' \"quoted\"; a_b^{c} %s \\n";
  plot.title = "'; system 'touch " + (folder / "owned") + "' ; '`touch " + (folder / "owned") + "`";
  REQUIRE(draw(plot, folder / "p's").size() == 2);
  const std::string svg = read_file(folder / "p's.svg");
  CHECK_THAT(svg, Contains("a_b^{c} %s \\n") && Contains("it's 'so'"));
  CHECK_THAT(svg, Contains("'; system 'touch ") && Contains("`touch "));
  CHECK_FALSE(std::filesystem::exists(folder / "owned"));
}

TEST_CASE("plot: points that cannot be drawn are left out, with a logarithmic axis too") {
  ONEBIT_SKIP_UNLESS(gnuplot, "gnuplot", "no gnuplot");
  const Folder folder;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Plot plot = sample();
  plot.log_x = true;
  plot.curves[0] = {.label = "one", .x = {0, 10, 100, 1000, infinity}, .y = {1, infinity, 2, 3, 4}};
  plot.curves[1] = {.label = "gone", .x = {0, 10}, .y = {1, std::nan("")}};
  REQUIRE(draw(plot, folder / "p").size() == 2);
  CHECK_THAT(read_file(folder / "p.svg"), Contains("one") && !Contains("gone"));
}

TEST_CASE("plot: a single point and a constant curve can be drawn") {
  ONEBIT_SKIP_UNLESS(gnuplot, "gnuplot", "no gnuplot");
  const Folder folder;
  Plot plot = sample();
  plot.curves = {{.label = "flat", .x = {1, 2}, .y = {3, 3}}, {.label = "point", .x = {1}, .y = {3}}};
  CHECK(draw(plot, folder / "p").size() == 2);
}

TEST_CASE("plot: bands are cut at the frame, and one that lies outside it leaves no trace") {
  ONEBIT_SKIP_UNLESS(gnuplot, "gnuplot", "no gnuplot");
  const Folder folder;
  const auto picture = [&](double half, double outside) {
    Plot plot = sample();
    plot.curves = {{.label = "in", .x = {1, 2, 3}, .y = {0, 5, 10}, .half_widths = {half, half, half}},
                   {.label = "out", .x = {1, 2, 3}, .y = {100, 110, 120}, .half_widths = {outside, outside, outside}}};
    plot.curves[1].sets_range = false;
    REQUIRE(draw(plot, folder / "p").size() == 2);
    return read_file(folder / "p.svg");
  };
  CHECK(picture(1, 2) == picture(1, 50));   // the frame ends at 11
  CHECK(picture(40, 2) == picture(50, 2));  // bands widen the frame by at most its height
  CHECK(picture(1, 2) != picture(0.5, 2));
}

TEST_CASE("plot: a cross at the end of a curve, also of one that leaves the frame") {
  ONEBIT_SKIP_UNLESS(gnuplot, "gnuplot", "no gnuplot");
  const Folder folder;
  const auto picture = [&](bool crossed) {
    Plot plot = sample();
    plot.curves = {{.label = "in", .x = {1, 2, 3}, .y = {0, 5, 10}},
                   {.label = "out", .x = {1, 2, 3}, .y = {1, 200, std::nan("")}, .sets_range = false}};
    plot.curves[1].crossed = crossed;
    REQUIRE(draw(plot, folder / "p").size() == 2);
    return read_file(folder / "p.svg");
  };
  CHECK(picture(true).size() > picture(false).size());
}

TEST_CASE("plot: without gnuplot, or with nothing to draw, there is no picture") {
  const Folder folder;
  Plot nothing = sample();
  nothing.curves.clear();
  CHECK(draw(nothing, folder / "p").empty());
  const Environment path("PATH", folder / "nowhere");
  CHECK(draw(sample(), folder / "p").empty());
  CHECK_FALSE(std::filesystem::exists(folder / "p.svg"));
}

TEST_CASE("plot: a picture that cannot be written is an error with its path") {
  ONEBIT_SKIP_UNLESS(gnuplot, "gnuplot", "no gnuplot");
  const Folder folder;
  CHECK_THROWS_AS(draw(sample(), folder / "absent/p"), IoError);
  CHECK_THROWS_WITH(draw(sample(), folder / "absent/p"), Contains(folder / "absent/p.svg"));
}

TEST_CASE("plot: a file's name is no command, and what is no file is not replaced") {
  ONEBIT_SKIP_UNLESS(gnuplot, "gnuplot", "no gnuplot");
  const Folder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const std::vector<std::string> paths = draw(sample(), "|touch owned; #");
  std::filesystem::current_path(before);
  CHECK(paths == std::vector<std::string>{"|touch owned; #.svg", "|touch owned; #.png"});
  CHECK(std::filesystem::exists(folder / "|touch owned; #.svg"));
  CHECK_FALSE(std::filesystem::exists(folder / "owned"));
  REQUIRE(mkfifo((folder / "p.svg").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(draw(sample(), folder / "p"), Contains("not a regular file"));
  CHECK(std::filesystem::is_fifo(folder / "p.svg"));
}

TEST_CASE("a text that looks like commands is a text") {
  ONEBIT_SKIP_UNLESS(has_gnuplot(), "gnuplot", "not installed");
  const Folder folder;
  const std::string evil = "x'\n!touch " + (folder / "seen") + "\nset title 'y";
  const Plot plot{.title = evil, .x_label = evil, .y_label = evil, .curves = {{evil, {1, 2}, {3, 4}}}};
  CHECK_FALSE(draw(plot, folder / "plot").empty());
  CHECK_FALSE(inline_svg(plot, "p-").empty());
  const HeatMap map{
      .title = evil, .x_label = evil, .rows = {evil}, .columns = {evil}, .values = {{1}}, .value_label = evil};
  CHECK_FALSE(draw(map, folder / "map").empty());
  CHECK_FALSE(std::filesystem::exists(folder / "seen"));
}

TEST_CASE("a logarithmic axis that spans less than two powers of ten ends with its curves and has labels between") {
  ONEBIT_SKIP_UNLESS(has_gnuplot(), "gnuplot", "not installed");
  Plot logarithmic{.title = "t", .x_label = "x", .y_label = "y", .log_x = true, .curves = {}};
  logarithmic.curves.push_back({.label = "c", .x = {3e5, 1e6, 3e6}, .y = {1, 2, 3}});
  const std::string near = inline_svg(logarithmic, "p-");
  for (const std::string tick : {"500kB", "1MB", "2MB"}) CHECK(near.find(">" + tick + "<") != std::string::npos);
  for (const std::string tick : {"100kB", "5MB", "10MB"}) CHECK(near.find(">" + tick + "<") == std::string::npos);
  logarithmic.curves[0].x = {2.1e5, 3e5, 3.9e5};  // no 1, 2 or 5 times a power lies in between
  const std::string nearer = inline_svg(logarithmic, "p-");
  for (const std::string tick : {"100kB", "1MB"}) CHECK(nearer.find(">" + tick + "<") != std::string::npos);
}

TEST_CASE("pictures in one page have names of their own") {
  ONEBIT_SKIP_UNLESS(has_gnuplot(), "gnuplot", "not installed");
  const Plot plot{.title = "t", .x_label = "x", .y_label = "y", .curves = {{"a", {1, 2}, {3, 4}, 0, {0.5, 0.25}}}};
  const std::string svg = inline_svg(plot, "first-");
  CHECK(svg.starts_with("<svg"));
  CHECK(svg.find("id=\"first-") != std::string::npos);
  CHECK(svg.find("id=\"gp") == std::string::npos);
  CHECK(inline_svg(Plot{}, "p-").empty());
  CHECK(inline_svg(HeatMap{}, "p-").empty());
}

TEST_CASE("heat map: a scale that is given holds whatever the values are") {
  ONEBIT_SKIP_UNLESS(has_gnuplot(), "gnuplot", "not installed");
  HeatMap map{
      .title = "t", .x_label = "x", .rows = {"a"}, .columns = {"1", "2"}, .values = {{0.95, 1}}, .value_label = "v"};
  CHECK(inline_svg(map, "p-").find("0.2<") == std::string::npos);
  map.low = 0;
  map.high = 1;
  CHECK(inline_svg(map, "p-").find("0.2<") != std::string::npos);
}

TEST_CASE("plot: a gnuplot that fails, hangs or reads nothing is an error that says so") {
  const Folder folder;
  const auto becomes = [&](const std::string& script) {
    folder.write("gnuplot", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(folder / "gnuplot", std::filesystem::perms::owner_all);
  };
  const Environment path("PATH", folder.path() + ":" + std::getenv("PATH"));
  const std::string large(1 << 20, '#');  // more than a pipe would hold
  becomes("exec 0<&-; exit 3");
  CHECK_THROWS_WITH(gnuplot_picture(large), Contains("no picture") && Contains("status 3"));
  becomes("kill -9 $$");
  CHECK_THROWS_WITH(gnuplot_picture(large), Contains("signal 9"));
  becomes("exit 0");
  CHECK_THROWS_WITH(gnuplot_picture(large), Contains("its output is empty"));
  becomes("echo $$ > '" + (folder / "number") + "'; exec sleep 1000");
  CHECK_THROWS_WITH(gnuplot_picture(large, std::chrono::milliseconds(500)), Contains("did not end within 0.5 seconds"));
  CHECK_FALSE(std::filesystem::exists("/proc/" + std::to_string(std::stol(read_file(folder / "number")))));
}

TEST_CASE("plot: a signal that reaches the program ends gnuplot") {
  const Folder folder;
  folder.write("gnuplot", "#!/bin/sh\nexec sleep 1000\n");
  std::filesystem::permissions(folder / "gnuplot", std::filesystem::perms::owner_all);
  const Environment path("PATH", folder.path() + ":" + std::getenv("PATH"));
  struct sigaction handler = {}, before = {};
  handler.sa_handler = [](int) {};
  sigaction(SIGALRM, &handler, &before);
  const itimerval often{{0, 50'000}, {0, 50'000}}, never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  CHECK_THROWS_WITH(gnuplot_picture("plot x"), Contains("stopped by a signal"));
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
}

TEST_CASE("plot: controls and invalid characters in a text are drawn as text") {
  ONEBIT_SKIP_UNLESS(gnuplot, "gnuplot", "no gnuplot");
  const Folder folder;
  Plot plot = sample();
  plot.title = "\x1b[31mred\n\xff";
  REQUIRE(draw(plot, folder / "p").size() == 2);
  CHECK_THAT(read_file(folder / "p.svg"), Contains("\\x1b[31mred\\x0a\\xff"));
}
