// Tables, intervals and JSON without the program.

#include <limits>
#include <sstream>

#include "experiments/output/analysis/analyze_tables.hpp"
#include "experiments/output/analysis/freeze_output.hpp"
#include "experiments/output/analysis/interval_output.hpp"
#include "experiments/output/pricing/time_output.hpp"
#include "experiments/output/screen.hpp"
#include "experiments/report/html.hpp"
#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::experiments;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

TEST_CASE("tables: columns are aligned by characters, not by bytes") {
  Table table({"arm", "loss", "runs"});
  table.add({"adam", interval_text({1.25, 0.125, 3}), "3"});
  CHECK(interval_text({1.8e13, 4.82104e13, 3}) == "1.8e+13 ± 4.8e+13");
  CHECK(interval_text({359620, 1.3e6, 3}) == "4e+05 ± 1.3e+06");
  CHECK(interval_text({17473, 8432.4, 3}) == "17500 ± 8400");
  CHECK(interval_text({2681.3, 823.4, 3}, 3) == "2680 ± 820");
  CHECK(interval_text({0.63118, 0.0329, 3}) == "0.631 ± 0.033");
  CHECK(interval_text({42, 0.0999, 3}) == "42.000 ± 0.100");
  CHECK(interval_text({0.5, 0, 3}) == "0.5 ± 0");
  CHECK(interval_text({2.3456e-5, 1.23e-6, 3}) == "2.35e-05 ± 1.2e-06");
  table.add({"b", interval_text({10, std::numeric_limits<double>::quiet_NaN(), 1}), "1"});
  std::ostringstream out;
  table.print(out);
  CHECK(out.str() ==
        "arm          loss  runs\n"
        "adam  1.25 ± 0.12     3\n"
        "b              10     1\n");
}

TEST_CASE("tables: an interval has the unit of its mean") {
  CHECK(with_interval("24.1 ms", {0.0241, 0.00756, 3}) == "24.1 ± 7.6 ms");
  CHECK(with_interval("24.1 ms", {0.024127, 1.2e-5, 3}) == "24.1 ± 0.012 ms");  // no digits that the text lacks
  CHECK(with_interval("1.212 MB", {1211700, 370100, 3}) == "1.21 ± 0.37 MB");
  CHECK(with_interval("24.1 ms", {0.0241, std::numeric_limits<double>::quiet_NaN(), 1}) == "24.1 ms");
  CHECK(with_interval("-", {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN(), 0}) ==
        "-");
}

TEST_CASE("tables: a column of times has one unit, that of the longest") {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  const auto texts = [](const std::vector<double>& seconds) { return seconds_texts(seconds); };
  CHECK(texts({1.72, 0.6962, unknown}) == std::vector<std::string>{"1.72 s", "0.696 s", "-"});
  CHECK(texts({0.0123, 1.23e-5}) == std::vector<std::string>{"12.3 ms", "0.0123 ms"});
  CHECK(texts({4e-6, 0}) == std::vector<std::string>{"4 us", "0 us"});
  CHECK(texts({unknown}) == std::vector<std::string>{"-"});
  CHECK(seconds_text(0.6962) == "696 ms");
  std::vector<analysis::ArmFigures> arms(2);
  arms[0].seconds = {{"eth1", {1.72, 0, 3}}, {"ib100", {0.05, 0, 3}}};
  arms[1].seconds = {{"eth1", {0.6962, 0, 3}}, {"ib100", {0.0005, 0, 3}}};
  const Table table = times_table(arms);
  CHECK(table.rows()[1] == std::vector<std::string>{"  ", "1.72 s", "50 ms"});
  CHECK(table.rows()[2] == std::vector<std::string>{"  ", "0.696 s", "0.5 ms"});
}

TEST_CASE("tables: no line of a page breaks after the dashes of an option") {
  CHECK(html::paragraph("use --step.stretch, --a-b.") ==
        "<p>use <span class=\"option\">--step.stretch</span>, <span class=\"option\">--a-b</span>.</p>\n");
  CHECK(html::paragraph("a -- b --- c a--name-of-a-file --") == "<p>a -- b --- c a--name-of-a-file --</p>\n");
}

TEST_CASE("tables: a page leaves out columns of numbers without a value, and labels the cells of blocks") {
  Table table({"arm", "loss", "accuracy", "runs"});
  table.add({"a", "1", "-", "3"});
  table.add({"a heading"});
  table.add({"-", "-", "-", "3"});
  const std::string html = html::table(table);
  CHECK_THAT(html, Contains("<th class=\"text\">arm</th><th>loss</th><th>runs</th>"));
  CHECK_THAT(html, Contains("<td class=\"text\">-</td><td>-</td><td>3</td>"));
  CHECK_THAT(html, Contains("<td class=\"text\" colspan=\"3\"><span class=\"over\">a heading</span></td>"));
  Table names({"arm", "loss"});
  names.add({"onebit-adam with-a-name-of-more-than-24-characters-é", "1"});
  CHECK_THAT(html::blocks(names), Contains("onebit-adam with-a-name-of-m<wbr>ore-than-24-char<wbr>acters-é</td>"));
  CHECK_THAT(html::blocks(table),
             Contains("<td class=\"text\" data-label=\"arm\">a</td><td data-label=\"loss\">1</td>"));
}

TEST_CASE("tables: those of an analysis say how many steps they show, and what was not measured") {
  analysis::Drift drift;
  for (Index step = 1; step <= 9; ++step) {
    if (step == 9) CHECK(drift_table(drift).rows().back().size() == 4);
    drift.steps.push_back(step);
    drift.norm_ratio.push_back(1);
    drift.rate_drift.push_back(0);
    drift.moved_share.push_back(0);
  }
  CHECK(drift_table(drift).rows().back() == std::vector<std::string>{"8 of 9 rows are shown"});

  analysis::TheoryConstants constants;
  constants.noise = {.value = 2, .least = 1, .most = 3};
  const std::vector<std::vector<std::string>> rows = constants_table(constants).rows();
  REQUIRE(rows.size() == 3);
  CHECK(rows[1] == std::vector<std::string>{"sigma of a worker's gradient", "2", "1", "3", "-"});
  CHECK_THAT(rows[2].front(),
             StartsWith("not measured: L along the path, largest; L by power iteration, largest; zeta"));
}

TEST_CASE("tables: a bound that does not hold has no left side") {
  analysis::TheoryView view;
  view.bound = {{.step = 1, .factor = -2, .left = 5}};
  CHECK(bound_table(view.bound).rows()[1][2] == "-");
  CHECK_THAT(theory_lines(view).front(), StartsWith("the factor is not positive"));
  CHECK_THAT(theory_lines(view).back(), !Contains("compare how"));
  view.bound = {{.step = 1, .factor = std::numeric_limits<double>::quiet_NaN()}};
  CHECK_THAT(theory_lines(view).front(), StartsWith("the factor is unknown"));
  view.bound = {{.step = 1, .factor = 2, .left = -5}};
  CHECK(bound_table(view.bound).rows()[1][2] == "-5");
  CHECK_THAT(theory_lines(view).front(), Contains("compare how the two sides grow"));
  CHECK_THAT(theory_lines(view).back(), Contains("noise can make it negative"));
}

TEST_CASE("tables: intervals of shares are percentages") {
  CHECK(percent_interval({0.5, 0.01, 3}) == "50.0% ± 1.0%");
  CHECK(percent_interval({0.76113, 0.01562, 3}) == "76.1% ± 1.6%");
  CHECK(percent_interval({0.75412, 0.0049, 3}) == "75.41% ± 0.49%");
  CHECK(percent_interval({0.5, std::numeric_limits<double>::quiet_NaN(), 1}) == "50%");
}

namespace {

/// A terminal of some width without colours.
class Paper : public Screen {
 public:
  explicit Paper(Index columns) : columns_(columns) {}
  Index columns() const override { return columns_; }
  void paint(Tone tone) override { text_ += "<" + std::to_string(static_cast<int>(tone)) + ">"; }
  const std::string& text() const { return text_; }

 private:
  int_type overflow(int_type byte) override {
    text_ += traits_type::to_char_type(byte);
    return byte;
  }
  Index columns_;
  std::string text_;
};

template <class Print>
std::string on_paper(Index columns, const Print& print) {
  Paper paper(columns);
  std::ostream out(&paper);
  print(out);
  return paper.text();
}

}  // namespace

TEST_CASE("tables: a narrow terminal gets the first columns, and the names of the others") {
  Table table({"arm", "loss", "bytes", "accuracy", "wall"});
  table.add({"adam", "1.25", "12 kB", "50%", "1 s"});
  const auto print = [&](std::ostream& out) { table.print(out); };
  CHECK(on_paper(80, print) ==
        "arm   loss  bytes  accuracy  wall\n"
        "adam  1.25  12 kB       50%   1 s\n");
  CHECK(on_paper(33, print) == on_paper(80, print));
  CHECK(on_paper(32, print) ==
        "arm   loss  bytes  accuracy\n"
        "adam  1.25  12 kB       50%\n"
        "a wider terminal or '| less -S'…\n");
  CHECK(on_paper(0, print) == on_paper(80, print));
  Table wide({"arm", std::string(50, 'a'), std::string(30, 'b'), "c"});
  wide.add({"x", "1", "2", "3"});
  CHECK_THAT(
      on_paper(70, [&](std::ostream& out) { wide.print(out); }),
      Catch::Matchers::EndsWith("\na wider terminal or '| less -S' also shows: " + std::string(25, 'b') + "…\n"));
}

TEST_CASE("tables: long texts continue in further lines where the terminal is narrow") {
  Table table({"option", "value"}, 2);
  table.add({"log", "a/path/that/is/long and more"});
  CHECK(on_paper(20, [&](std::ostream& out) { table.print(out); }) ==
        "option  value\n"
        "log     a/path/that/\n"
        "        is/long and\n"
        "        more\n");
}

TEST_CASE("tables: the best row is coloured, and a word of a paragraph") {
  Table table({"arm", "loss"});
  table.add({"a", "1"});
  table.mark_best();
  table.add({"b", "2"});
  CHECK(on_paper(80, [&](std::ostream& out) { table.print(out); }) == "arm  loss\n<1>a       1\n<0>b       2\n");
  const auto print = [](std::ostream& out) { print_paragraph(out, "worse-1 is worse than b", {"worse", Tone::bad}); };
  CHECK(on_paper(80, print) == "worse-1 is <3>worse<0> than b\n");
  CHECK(on_paper(10, print) == "worse-1 is\n  <3>worse<0>\n  than b\n");
  std::ostringstream plain;
  print(plain);
  CHECK(plain.str() == "worse-1 is worse than b\n");
}

TEST_CASE("tables: the answer of freeze keeps its verdicts on a narrow terminal, and explains a gain on average") {
  FreezeAnswer answer;
  answer.steps = 300;
  answer.freeze_step = 39;
  answer.judged.criterion.margin = 0.01;
  answer.judged.arms = {"compressed"};
  answer.judged.seeds = {2, 3, 4};
  answer.judged.rows.resize(1);
  analysis::FreezeRow& row = answer.judged.rows.front();
  row.candidate = "step 39";
  row.arms.resize(1);
  analysis::FreezeCost& cost = row.arms.front().together;
  cost = {{-0.05, -0.06, 0.04},         {-0.0233, 0.13, 3}, 0.5, analysis::FreezeVerdict::costs, 0,
          "seed 4 is beyond the margin"};
  row.freeze = cost;
  const std::string text = on_paper(
      80, [&](std::ostream& out) { print_answer(answer, "onebit analyze --validate --freeze-at 78,156", out); });
  CHECK_THAT(text, StartsWith("freezing after 39 of 300 steps (13%) costs too much: with compression, the cost\n"
                              "  is 4% for seed 4 (margin: 1%), although the mean over the seeds is a gain of\n"
                              "  2.33%\n"));
  CHECK_THAT(text, Contains("\nboth together (compressed)     -2% ± 13%  too costly: seed 4 is beyond the\n" +
                            std::string(42, ' ') + "margin\n"));
  CHECK_THAT(text, !Contains("also shows"));
  CHECK_THAT(text, !Contains("changed nothing"));
  answer.judged.arms.emplace_back("floor");
  row.arms.push_back(row.arms.front());
  CHECK_THAT(on_paper(200, [&](std::ostream& out) { print_answer(answer, "", out); }),
             Contains("\nthe runs of floor ended exactly like the runs of compressed: its options changed nothing\n"));
  CHECK_THAT(text, Catch::Matchers::EndsWith("later steps:\nonebit analyze --validate --freeze-at 78,156\n"));
}
