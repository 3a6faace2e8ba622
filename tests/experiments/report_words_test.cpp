// Reports of runs made in memory: the words of questions, answers, their evidence and their cautions.

#include "experiments/output/comparison_output.hpp"
#include "experiments/report/answers.hpp"
#include "experiments/report/cautions.hpp"
#include "experiments/report/chart.hpp"
#include "experiments/report/costs.hpp"
#include "experiments/report/figures.hpp"
#include "experiments/report/front.hpp"
#include "experiments/report/savings.hpp"
#include "netmodel/cost/link_load.hpp"
#include "tests/analysis/runs.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::experiments;
using namespace onebit::tests;
using analysis::Run;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

analysis::OptionValues options_of(const std::string& optimizer, const std::string& rate = "0.1") {
  return {{"optimizer", optimizer}, {"optimizer.lr", rate}};
}

/// Runs of an arm with seeds 1, 2, ... that end with these losses; the others are those before the last evaluation.
void add(std::vector<Run>& runs, const analysis::OptionValues& options, const std::vector<double>& ends,
         std::vector<double> others = {10, 5, 4, 3, 2.5, 2.4, 2.3, 2.2, 2.1, 2}) {
  others.push_back(0);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    others.back() = ends[i];
    runs.push_back(make_run(options, static_cast<std::uint32_t>(i + 1), others));
    runs.back().summary.path = options.at("optimizer") + options.at("optimizer.lr") + runs.back().summary.path;
  }
}

Report report_on(std::vector<Run> runs, const std::string& baseline = "") {
  ReportRequest request;
  request.comparison.baseline = baseline;
  request.comparison.clusters = {netmodel::find_cluster("eth1")};
  request.comparison.rules.forward = request.comparison.rules.backward = netmodel::Seconds(1e-4);
  request.comparison.rules.optimizer = netmodel::Seconds(0);
  return report_of({std::move(runs), {}}, request, netmodel::LinkLoad());
}

/// Returns the report of adam and sgd, whose runs end with these losses.
Report two_arms(const std::vector<double>& there, const std::vector<double>& here,
                const std::vector<double>& others = {10, 5, 4, 3, 2.5, 2.4, 2.3, 2.2, 2.1, 2}) {
  std::vector<Run> runs;
  add(runs, options_of("adam"), there, others);
  add(runs, options_of("sgd"), here, others);
  return report_on(std::move(runs));
}

}  // namespace

TEST_CASE("report: a question about several baselines asks no arm to match itself") {
  std::vector<Run> runs;
  for (const std::string optimizer : {"adam", "momentum-sgd", "onebit-adam", "signum"})
    add(runs, options_of(optimizer), {1, 1.1, 1.05});
  const std::string page = front_html(report_on(runs), "title");
  CHECK_THAT(page, Contains("reach the same final loss as the arm that each is compared with (adam or momentum-sgd), "
                            "and what do they save?"));
  CHECK_THAT(front_html(two_arms({1, 1.1}, {1, 1.1}), "title"),
             Contains("Does sgd reach the same final loss as adam, and what does it save?"));
}

TEST_CASE("report: verdicts that rest on few evaluations say so") {
  const auto few = [](const std::vector<double>& others, const std::vector<double>& here) {
    return few_evaluations_text(two_arms({1, 1.01, 1.02}, here, others).comparison);
  };
  const std::vector<double> worse = {1.5, 1.51, 1.52}, open = {0.5, 1.51, 1.02};
  const std::vector<double> ten = {10, 5, 4, 3, 2.5, 2.4, 2.3, 2.2, 2.1, 2}, six = {10, 5, 4, 3, 2}, two = {10};
  CHECK(few(ten, worse).empty());
  CHECK(few(six, worse) ==
        "Runs have as few as 2 evaluations in the last fifth of the steps, so verdicts rest on the last evaluation "
        "alone (a smaller --eval.every evaluates more often).");
  CHECK(few(six, open).empty());  // nothing rests on them
  CHECK(few(two, worse) ==
        "Runs have as few as 2 evaluations, so curves and costs of reaching a loss are rough, and verdicts rest on the "
        "last evaluation alone (a smaller --eval.every evaluates more often).");
  CHECK(few(two, open) ==
        "Runs have as few as 2 evaluations, so curves and costs of reaching a loss are rough (a smaller --eval.every "
        "evaluates more often).");
}

TEST_CASE("report: grids whose best rates are at an end, or far from the next, share a line") {
  std::vector<Run> runs;
  for (const std::string optimizer : {"adam", "sgd", "signum"}) {
    add(runs, options_of(optimizer, "0.01"), {1, 1.1});
    add(runs, options_of(optimizer, "0.1"), {2, 2.1});
  }
  const std::vector<std::string> lines = cautions_of(report_on(runs));
  const auto count = [&](const std::string& text) { return std::ranges::count(lines, text); };
  CHECK(count("Warning: the best learning rates of adam (0.01), sgd (0.01) and signum (0.01) are the smallest that "
              "were tried; better ones may be beyond them.") == 1);
  CHECK(count("Warning: the learning rates next to the best ones of adam (0.01), sgd (0.01) and signum (0.01) differ "
              "from these by a factor of more than 5; rates between them may be better.") == 1);
  CHECK(std::ranges::none_of(lines,
                             [](const auto& line) { return line.find("is the best learning rate") != line.npos; }));
  std::vector<Run> one;
  add(one, options_of("adam", "0.01"), {1, 1.1});
  add(one, options_of("adam", "0.04"), {2, 2.1});
  add(one, options_of("sgd", "0.01"), {1, 1.1});
  const std::vector<std::string> own = cautions_of(report_on(one));
  CHECK(std::ranges::count(own,
                           "Warning: 0.01 is the best learning rate of adam and the smallest that was tried; a "
                           "better one may be beyond it.") == 1);
}

TEST_CASE("report: a requested baseline is in the figures, next to the best rates") {
  std::vector<Run> runs;
  for (const std::string rate : {"0.01", "0.1"}) {
    add(runs, options_of("adam", rate), {rate == "0.1" ? 1.0 : 2.0});
    add(runs, options_of("sgd", rate), {rate == "0.1" ? 1.0 : 2.0});
  }
  CHECK(report_on(runs).shown == std::vector<std::string>{"adam, lr 0.1", "sgd, lr 0.1"});
  CHECK(report_on(runs, "adam, lr 0.01").shown ==
        std::vector<std::string>{"adam, lr 0.1", "sgd, lr 0.1", "adam, lr 0.01"});
}

TEST_CASE("report: losses that span a factor of ten are shown on a logarithmic axis") {
  const Report wide = two_arms({1, 1}, {0.9, 0.9}), narrow = two_arms({1.1, 1.1}, {1.2, 1.2});
  CHECK(spans_decades(wide.comparison, wide.shown));
  CHECK_FALSE(spans_decades(narrow.comparison, narrow.shown));
  CHECK_FALSE(spans_decades(two_arms({-1, -1}, {1, 1}).comparison, wide.shown));
  CHECK(loss_figures(wide.comparison, wide.shown).front().plot.log_y);
  CHECK_FALSE(loss_figures(narrow.comparison, narrow.shown).front().plot.log_y);
  CHECK_THAT(chart_data(wide.comparison, wide.shown).text(), Contains("\"log_y\": true"));
  // An arm that rose does not count.
  CHECK_FALSE(spans_decades(two_arms({2, 2}, {1e6, 1e6}).comparison, wide.shown));
}

TEST_CASE("report: one seed has no band, in the captions either") {
  const Report one = two_arms({2}, {2.1}), two = two_arms({2, 2.1}, {2.1, 2.2});
  CHECK(loss_figures(one.comparison, one.shown).front().caption.empty());
  CHECK_THAT(loss_figures(two.comparison, two.shown).front().caption, StartsWith("Mean over the seeds; the band"));
}

TEST_CASE("report: an error of the estimates concerns the exchanges of two dense arms alike") {
  const auto speed_with = [](const netmodel::TrafficList& traffic, bool compressed) {
    std::vector<Run> runs;
    add(runs, options_of("adam"), {1, 1.1});
    add(runs, options_of("sgd"), {1, 1.1});
    for (Run& run : runs) {
      if (run.header.config.front().second != "sgd") continue;
      run.exchanges = {{.first = 1, .last = 4, .each = traffic, .compressed = compressed}, {.first = 5, .last = 10}};
      run.summary.bytes = 1920;
      run.summary.passes = {.encode = 20, .serve = 16, .decode = 4};
    }
    Report report = report_on(std::move(runs));
    const Pair pair = pair_of(report, report.comparison.verdicts.front());
    CHECK(are_both_dense(pair) == !compressed);
    const std::vector<std::string> notes = cost_notes(report, report.comparison.verdicts.front());
    const bool both = std::ranges::any_of(
        notes, [](const auto& note) { return note.find("exchanges of both arms take up to") != note.npos; });
    CHECK(both == !compressed);
    return std::pair(speeds_of(pair).front(), pair.there.seconds.front().seconds.mean);
  };
  const auto [dense, time] = speed_with(dense_exchange(), false);
  const auto [bits, same_time] = speed_with(dense_exchange(), true);
  CHECK(time == same_time);
  // Of the baseline's time, 2 ms are computing; the arm exchanges in 4 of the 10 steps. On eth1, exchanges may take
  // half as long or half as long again: those of both arms or, if one of them compresses, those of that arm.
  const double computing = 2e-3, exchanges = time - computing;
  const auto ratio = [&](double there, double here) {
    return (computing + there * exchanges) / (computing + here * 0.4 * exchanges);
  };
  CHECK(dense.ratio == Approx(ratio(1, 1)).epsilon(1e-6));
  CHECK(dense.low == Approx(ratio(0.5, 0.5)).epsilon(1e-6));
  CHECK(dense.high == Approx(ratio(1.5, 1.5)).epsilon(1e-6));
  CHECK(bits.low == Approx(ratio(1, 1.5)).epsilon(1e-3));  // the codec takes a little time
  CHECK(bits.high == Approx(ratio(1, 0.5)).epsilon(1e-3));
}

TEST_CASE("report: it says why the mean losses differ the other way than the paired ratios") {
  const auto evidence = [](const std::vector<double>& here) { return answers_html(two_arms({1, 1, 1}, here)); };
  CHECK_THAT(evidence({0.5, 0.9, 1.8}),
             Contains(" Its mean loss is higher, because high losses of single seeds count more in it."));
  CHECK_THAT(evidence({0.5, 0.9, 1.1}), !Contains(" Its mean loss is "));
  CHECK_THAT(evidence({0.9, 0.9, 0.9, 9}),
             Contains(" Its mean loss is higher, because it includes seeds that only one of the arms has."));
}
