// Reports of runs made in memory: the words of questions, answers, their evidence and their cautions.

#include "device/base/text.hpp"
#include "experiments/output/comparison_output.hpp"
#include "experiments/report/answers.hpp"
#include "experiments/report/cautions.hpp"
#include "experiments/report/chart.hpp"
#include "experiments/report/clusters.hpp"
#include "experiments/report/costs.hpp"
#include "experiments/report/figures.hpp"
#include "experiments/report/front.hpp"
#include "experiments/report/grids.hpp"
#include "experiments/report/loss_map.hpp"
#include "experiments/report/savings.hpp"
#include "experiments/study/unfinished.hpp"
#include "netmodel/cost/link_load.hpp"
#include "tests/analysis/runs.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::experiments;
using namespace onebit::tests;
using analysis::Run;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::Matches;
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

TEST_CASE("report: verdicts that rest on one evaluation of each run are named") {
  const auto lines = [](const std::vector<double>& here, const std::vector<double>& others) {
    const std::vector<std::string> all = cautions_of(two_arms({1, 1.01, 1.02}, here, others));
    std::vector<std::string> found;
    for (const std::string& line : all) {
      if (line.find("the last evaluation of each run") != line.npos) found.push_back(line);
    }
    return found;
  };
  const std::vector<double> worse = {1.5, 1.51, 1.52}, open = {0.5, 1.51, 1.02};
  const std::vector<double> ten = {10, 5, 4, 3, 2.5, 2.4, 2.3, 2.2, 2.1, 2},
                            nine = {10, 5, 4, 3, 2.5, 2.4, 2.3, 2.2, 2};
  CHECK(lines(worse, ten).empty());  // evaluations at 8, 9 and 10 of 10 steps
  CHECK(lines(worse, nine) ==
        std::vector<std::string>{"The verdict on sgd rests on the last evaluation of each run, because runs have fewer "
                                 "than 3 evaluations in the last fifth of their steps."});
  CHECK(lines(open, nine).empty());
}

TEST_CASE("report: grids whose best rates are at an end, or far from the next, share a line") {
  std::vector<Run> runs;
  for (const std::string optimizer : {"adam", "sgd", "signum"}) {
    add(runs, options_of(optimizer, "0.01"), {1, 1.1});
    add(runs, options_of(optimizer, optimizer == "sgd" ? "0.3" : "0.1"), {2, 2.1});
  }
  const std::vector<std::string> lines = cautions_of(report_on(runs));
  const auto count = [&](const std::string& text) { return std::ranges::count(lines, text); };
  CHECK(count("Warning: the best learning rates of adam (0.01), sgd (0.01) and signum (0.01) are the smallest that "
              "were tried; better ones may be beyond them.") == 1);
  CHECK(count("Warning: the learning rates next to the best ones of adam (0.01), sgd (0.01) and signum (0.01) differ "
              "from these by factors of up to 30; rates between them may be better.") == 1);
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

TEST_CASE("report: an unresolved answer says what the last fifth of the run shows, if that differs") {
  std::vector<Run> runs;
  add(runs, options_of("adam"), {1, 2, 1, 2}, {10, 5, 4, 3, 1, 1, 1, 1, 1, 1});
  add(runs, options_of("sgd"), {2, 1, 2, 1}, {10, 5, 4, 3, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5});
  // the means over three evaluations: 1, 4/3, ... and 7/3, 2, ...; 0.62638 ± 3.1824 * 0.12754
  CHECK_THAT(answers_html(report_on(runs)),
             Contains(" cannot be told apart with these seeds: the loss of sgd may be anything from ") &&
                 Contains("; but averaged over the last fifth of the run, it is 24.7% to 181% higher."));
  CHECK_THAT(answers_html(two_arms({1, 2, 1, 2}, {2, 1, 2, 1})), Contains("cannot be told") && !Contains("averaged"));
}

TEST_CASE("report: the first table says what its clusters are, and how certain its times") {
  const std::string page = front_html(two_arms({1, 1.1}, {2, 2.1}), "");
  CHECK_THAT(page, Contains("'est.' is the estimated time of a whole run (eth1: 1 Gb/s Ethernet, TCP). The "));
  CHECK_THAT(page, Contains("The answers compare seed by seed, so their intervals differ from these."));
  CHECK_THAT(front_html(two_arms({1, 1.1}, {20, 22}), ""), Contains(" are not compared.") && !Contains("seed by seed"));
  netmodel::Cluster changed = netmodel::find_cluster("eth1");
  changed.nic.effective = netmodel::BytesPerSecond(5e8);
  CHECK(described(changed) == "eth1: 4 Gb/s links");
}

TEST_CASE("report: a finding on an arm of the first table begins with its severity") {
  Report report = two_arms({1, 1.1}, {2, 2.1});
  report.findings = {{.cause = analysis::Cause::loss_rose_at_freeze,
                      .severity = analysis::Severity::warning,
                      .text = "the loss rose",
                      .hint = "freeze later",
                      .seeds = {{1, {1, 2}}},
                      .paths = {"a.h5", "b.h5"}}};
  CHECK(std::ranges::count(cautions_of(report), "Warning: sgd, seeds 1, 2: the loss rose.") == 1);
}

TEST_CASE("report: the command that repeats a run has no option without effect") {
  analysis::OptionValues options = options_of("adam", "0.25");
  options.insert({{"freeze", "fixed:5"}, {"codec", "onebit"}, {"steps", "7"}});
  const sim::LogHeader adam = make_run(options, 3, {1}).header;
  CHECK(command_to_repeat(adam) == "onebit run --steps 7 --optimizer.lr 0.25 --seed 3");
  options["optimizer"] = "onebit-adam";
  CHECK_THAT(command_to_repeat(make_run(options, 3, {1}).header), Contains("--freeze fixed:5"));
}

TEST_CASE("report: the figure of a bound names the term that its right side hides") {
  analysis::TheoryView view;
  view.bound = {{.step = 1, .factor = 1, .start = 1, .errors = 995},
                {.step = 2, .factor = 1, .start = 1, .errors = 999}};
  CHECK_THAT(bound_figure("adam", view).caption, Contains("The line of 'errors' is hidden by that of the right side."));
  view.bound.back().start = 20;
  CHECK_THAT(bound_figure("adam", view).caption, !Contains("hidden"));
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

namespace {

/// What speeds_of and costs_text say about two arms that exchange these vectors in all 10 steps or in the first 4.
struct Compared {
  Speed speed;
  double time;  ///< of the baseline
  Uncertain uncertain;
  std::string costs;
};

Compared compare_exchanges(const netmodel::TrafficList& there, const netmodel::TrafficList& here, bool here_compresses,
                           bool there_compresses = false) {
  std::vector<Run> runs;
  add(runs, options_of("adam"), {1, 1.1});
  add(runs, options_of("sgd"), {1, 1.1});
  for (Run& run : runs) {
    const bool is_arm = run.header.config.front().second == "sgd";
    run.exchanges = {{.first = 1,
                      .last = is_arm ? 4 : 10,
                      .each = is_arm ? here : there,
                      .compressed = is_arm ? here_compresses : there_compresses}};
    if (is_arm) run.exchanges.push_back({.first = 5, .last = 10});
    run.summary.passes = {.encode = 20, .serve = 16, .decode = 4};
    run.summary.bytes = is_arm ? 1920 : 4800;
  }
  const Report report = report_on(std::move(runs));
  const Pair pair = pair_of(report, report.comparison.verdicts.front());
  return {speeds_of(pair).front(), pair.there.seconds.front().seconds.mean, uncertain_of(pair),
          costs_text(report, report.comparison.verdicts.front())};
}

}  // namespace

TEST_CASE("report: the range of a speed varies the exchanges of both arms, if they are the same, or of one") {
  // Of the baseline's time, 2 ms are computing; the arm exchanges in 4 of the 10 steps. On eth1, exchanges may take
  // half as long or half as long again.
  const double computing = 2e-3;
  const auto ratio = [&](const Compared& compared, double there, double here) {
    const double exchanges = compared.time - computing;
    return (computing + there * exchanges) / (computing + here * 0.4 * exchanges);
  };
  const Compared same = compare_exchanges(dense_exchange(), dense_exchange(), false);
  CHECK(same.uncertain == Uncertain::both);
  CHECK(same.speed.ratio == Approx(ratio(same, 1, 1)).epsilon(1e-6));
  CHECK(same.speed.low == Approx(ratio(same, 0.5, 0.5)).epsilon(1e-6));
  CHECK(same.speed.high == Approx(ratio(same, 1.5, 1.5)).epsilon(1e-6));
  CHECK_THAT(same.costs, Contains(" with all exchange times ±50%)"));
  netmodel::TrafficList hidden = dense_exchange(), other = dense_exchange();
  hidden.front().overlaps_backward = true;
  CHECK(compare_exchanges(hidden, dense_exchange(), false).uncertain == Uncertain::both);
  other.front().messages += 1;
  const Compared different = compare_exchanges(dense_exchange(), other, false);
  CHECK(different.uncertain == Uncertain::arm);
  CHECK_THAT(different.costs, Contains(" with its exchange times ±50%)"));
  const Compared bits = compare_exchanges(dense_exchange(), compressed_exchange(), true);
  CHECK(bits.uncertain == Uncertain::arm);
  CHECK(bits.speed.low ==
        Approx(bits.time / (bits.time / bits.speed.ratio + 0.5 * (bits.time / bits.speed.ratio - computing)))
            .epsilon(1e-3));
  const Compared back = compare_exchanges(compressed_exchange(), dense_exchange(), false, true);
  const Compared bothbits = compare_exchanges(compressed_exchange(), other, true, true);
  CHECK(bothbits.uncertain == Uncertain::each);
  CHECK_THAT(bothbits.costs, Contains(" with each arm's exchange times ±50%)"));
  const double here = bothbits.time / bothbits.speed.ratio - computing, there = bothbits.time - computing;
  CHECK(bothbits.speed.high == Approx((computing + 1.5 * there) / (computing + 0.5 * here)).epsilon(1e-3));
  CHECK(bothbits.speed.low == Approx((computing + 0.5 * there) / (computing + 1.5 * here)).epsilon(1e-3));
  CHECK(back.uncertain == Uncertain::baseline);
  CHECK_THAT(back.costs, Contains(" with the baseline's exchange times ±50%)"));
  CHECK(back.speed.high == Approx(ratio(back, 1.5, 0) * (computing / (back.time / back.speed.ratio))).epsilon(1e-2));
  // A boundary's codec counts, too.
  netmodel::TrafficList boundary = dense_exchange();
  boundary.front().type = netmodel::WireType::packed;
  CHECK(compare_exchanges(boundary, dense_exchange(), false).uncertain == Uncertain::baseline);
}

TEST_CASE("report: a speed without a range has no range in brackets") {
  std::vector<Run> runs;
  add(runs, options_of("adam"), {1, 1.1});
  add(runs, options_of("sgd"), {1, 1.1});
  for (Run& run : runs) {
    if (run.header.config.front().second == "sgd") run.exchanges = {{1, 5, dense_exchange()}, {.first = 6, .last = 10}};
  }
  ReportRequest request;
  request.comparison.clusters = {netmodel::find_cluster("eth1")};
  request.comparison.rules.forward = request.comparison.rules.backward = request.comparison.rules.optimizer =
      netmodel::Seconds(0);
  const std::string page = answers_html(report_of({std::move(runs), {}}, request, netmodel::LinkLoad()));
  CHECK_THAT(page, Contains("is an estimated 2 times as fast on eth1."));
}

TEST_CASE("report: other numbers of samples and of clusters on which an arm is slower are part of the answer") {
  std::vector<Run> runs;
  add(runs, options_of("adam"), {1, 1.1});
  add(runs, options_of("sgd"), {1, 1.1});
  for (Run& run : runs) {
    if (run.header.config.front().second != "sgd") continue;
    for (sim::EvaluationRow& row : run.evaluations) row.samples *= 8;
    run.exchanges = {{.first = 1, .last = 10, .each = compressed_exchange(), .compressed = true}};
    run.summary.passes = {.encode = 2e7, .serve = 0, .decode = 0};  // as long as all messages of a fast network
    run.summary.bytes = 300;
  }
  ReportRequest request;
  for (const std::string cluster : {"eth1", "eth10", "ib100", "dgx-h100"})
    request.comparison.clusters.push_back(netmodel::find_cluster(cluster));
  request.comparison.rules.forward = request.comparison.rules.backward = netmodel::Seconds(1e-4);
  const std::string page = answers_html(report_of({std::move(runs), {}}, request, netmodel::LinkLoad()));
  CAPTURE(page);
  CHECK_THAT(page, Contains("In the same 10 steps, with 8 times as many samples, it sends 16 times fewer bytes"));
}

namespace {

/// Returns the answers on adam, which exchanges 4 MB in one message, and sgd, which exchanges `messages` messages of
/// `bytes` bytes, on four clusters.
std::string answers_on_messages(Index messages, Index bytes) {
  std::vector<Run> runs;
  add(runs, options_of("adam"), {1, 1.1});
  add(runs, options_of("sgd"), {1, 1.1});
  for (Run& run : runs) {
    const bool is_arm = run.header.config.front().second == "sgd";
    netmodel::Traffic traffic = dense_exchange().front();
    traffic.payload_bytes = is_arm ? bytes : 4'000'000;
    const Index count = is_arm ? messages : 1;
    run.exchanges = {{.first = 1, .last = 10, .each = netmodel::TrafficList(static_cast<std::size_t>(count), traffic)}};
    run.summary.bytes = 15 * static_cast<double>(count * traffic.payload_bytes);
  }
  ReportRequest request;
  for (const std::string cluster : {"eth1", "eth10", "eth25", "ib100"})
    request.comparison.clusters.push_back(netmodel::find_cluster(cluster));
  request.comparison.rules.forward = request.comparison.rules.backward = netmodel::Seconds(1e-4);
  return answers_html(report_of({std::move(runs), {}}, request, netmodel::LinkLoad()));
}

}  // namespace

TEST_CASE("report: an arm that is slower, or may be, on several clusters, but not on all, says on how many") {
  CHECK_THAT(answers_on_messages(200, 400),
             Contains("; it is slower on 3 of the 4 clusters, and may be slower on 1 more."));
  CHECK_THAT(answers_on_messages(3, 1'000'000), Contains("; it may be slower on all 4 clusters."));
}

TEST_CASE("report: an arm that is slower everywhere says so, and that this is no saving") {
  std::vector<Run> runs;
  add(runs, options_of("adam"), {1, 1.1});
  add(runs, options_of("sgd"), {1, 1.1});
  netmodel::TrafficList many;
  for (int i = 0; i < 200; ++i) many.push_back(dense_exchange().front());
  for (Run& run : runs) {
    if (run.header.config.front().second != "sgd") continue;
    run.exchanges = {{.first = 1, .last = 10, .each = many}};
    run.summary.bytes /= 2;
  }
  const auto answers = [&](const std::vector<std::string>& clusters, double computing) {
    ReportRequest request;
    for (const std::string& cluster : clusters) request.comparison.clusters.push_back(netmodel::find_cluster(cluster));
    request.comparison.rules.forward = request.comparison.rules.backward = netmodel::Seconds(computing);
    request.comparison.rules.optimizer = netmodel::Seconds(0);
    return answers_html(report_of({runs, {}}, request, netmodel::LinkLoad()));
  };
  CHECK_THAT(answers({"eth1", "eth10", "ib100"}, 1e-4),
             Contains("times fewer bytes, but takes an estimated ") && Contains("; it is slower on all 3 clusters."));
  CHECK_THAT(answers({"eth1", "ib100"}, 1e-4), !Contains("it is slower on all") && !Contains("slower on both"));
  CHECK_THAT(answers({"eth1", "eth10", "ib100"}, 1e3), Contains(" about the same time.") && !Contains("it is slower"));
}

TEST_CASE("report: a cost of reaching a loss is a geometric mean, also in its interval") {
  std::vector<Run> runs;
  add(runs, options_of("adam"), {1, 1}, {10, 9, 8, 7, 6, 5, 4, 3, 2, 1.5});
  add(runs, options_of("sgd"), {1, 1}, {10, 9, 8, 7, 6, 5, 4, 3, 2, 1.5});
  for (Run& run : runs) {
    // sgd sends as much as adam until the loss is reached with one seed, and a quarter of it with the other
    if (run.header.config.front().second == "sgd") run.summary.bytes *= run.summary.seed == 1 ? 1 : 0.25;
    for (sim::EvaluationRow& row : run.evaluations) row.bytes = run.summary.bytes * static_cast<double>(row.step) / 10;
  }
  ReportRequest request;
  request.comparison.target = 4;
  request.comparison.clusters = {netmodel::find_cluster("eth1")};
  const auto text = [&](double target) {
    request.comparison.target = target;
    return report_of({runs, {}}, request, netmodel::LinkLoad()).target_costs.at("sgd").text;
  };
  // exp(ln 4 / 2) = 2; the half width is 12.706 * ln 4 / 2
  CHECK_THAT(text(4),
             Contains("To reach a loss of 4 it may send 2 times fewer bytes (95% interval 0.000299 to 13400)"));
  runs.front().evaluations.front().loss = 3;
  CHECK(text(4) == "1 of 2 runs of adam starts at or below a loss of 4.");
}

TEST_CASE("report: an arm that diverged at every rate is not judged by the mildest one") {
  std::vector<Run> runs;
  add(runs, options_of("adam", "0.1"), {1, 1.1});
  add(runs, options_of("adam", "1"), {2, 2.1});
  add(runs, options_of("sgd", "1"), {1, 1.1});
  add(runs, options_of("sgd", "10"), {1, 1.1});
  for (Run& run : runs) {
    const std::string rate = run.header.config.front().second == "sgd" ? run.header.config[1].second : "";
    if (rate == "10" || (rate == "1" && run.summary.seed == 2)) run = diverged(run);
  }
  const std::string answers = answers_html(report_on(std::move(runs)));
  CHECK_THAT(answers, Contains("which diverged at every learning rate that was tried (3 of 4 runs), cannot be compared "
                               "with adam"));
}

TEST_CASE("report: an arm that saves less until a loss than over the run says so in its answer") {
  std::vector<Run> runs;
  add(runs, options_of("adam"), {1.2, 1.2}, {10, 4, 1.3, 1.25, 1.24, 1.23, 1.22, 1.21, 1.2, 1.2});
  add(runs, options_of("sgd"), {1.3, 1.3}, {10, 9, 8, 7, 6, 5, 4, 3, 2.5, 2});
  for (Run& run : runs) {
    if (run.header.config.front().second == "sgd") run.summary.bytes = 2400;
    for (sim::EvaluationRow& row : run.evaluations) row.bytes = run.summary.bytes * static_cast<double>(row.step) / 10;
  }
  const Report report = report_on(std::move(runs));
  const TargetCosts& costs = report.target_costs.at("sgd");
  CHECK_THAT(costs.text, StartsWith("To reach a loss of 1.3 it sends 2.5 times as many bytes"));
  CHECK(costs.note == "1.3 is the lowest loss that every finished run of both arms reached.");
  CHECK(costs.in_answer);
  CHECK_THAT(answers_html(report),
             Contains("it sends 2 times fewer bytes") && Contains("it sends 2.5 times as many bytes"));
}

/// Returns an all-reduce of this many bytes in a number of messages.
netmodel::TrafficList messages_of(Index bytes, Index count) {
  netmodel::Traffic traffic = dense_exchange().front();
  traffic.payload_bytes = bytes / count;
  return netmodel::TrafficList(static_cast<std::size_t>(count), traffic);
}

Report report_on_two_clusters(std::vector<Run> runs) {
  ReportRequest request;
  request.comparison.baseline = "adam";
  request.comparison.clusters = {netmodel::find_cluster("eth1"), netmodel::find_cluster("ib100")};
  request.comparison.rules.forward = request.comparison.rules.backward = netmodel::Seconds(1e-4);
  request.comparison.rules.optimizer = netmodel::Seconds(0);
  return report_of({std::move(runs), {}}, request, netmodel::LinkLoad());
}

/// Every arm but adam sends half the bytes, in `count` messages instead of one.
Report report_on_fewer_bytes(std::vector<Run> runs, Index count) {
  for (Run& run : runs) {
    const bool is_adam = run.header.config.front().second == "adam";
    run.exchanges = {{1, 10, is_adam ? messages_of(40'000'000, 1) : messages_of(20'000'000, count)}};
    if (!is_adam) run.summary.bytes = 2400;
    for (sim::EvaluationRow& row : run.evaluations) row.bytes = run.summary.bytes * static_cast<double>(row.step) / 10;
  }
  return report_on_two_clusters(std::move(runs));
}

/// Returns the costs of a loss that both arms reach at step 2. Both send the same bytes; adam in `there` messages, sgd
/// in `first` until step 5 and in `last` afterwards. On eth1 this makes little difference.
TargetCosts costs_of_messages(Index there, Index first, Index last) {
  std::vector<Run> runs;
  for (const char* arm : {"adam", "sgd"})
    add(runs, options_of(arm), {1.3, 1.3}, {10, 4, 1.3, 1.3, 1.3, 1.3, 1.3, 1.3, 1.3, 1.3});
  for (Run& run : runs) {
    const bool is_adam = run.header.config.front().second == "adam";
    run.exchanges = {{1, 5, messages_of(20'000'000, is_adam ? there : first)},
                     {6, 10, messages_of(20'000'000, is_adam ? there : last)}};
  }
  return report_on_two_clusters(std::move(runs)).target_costs.at("sgd");
}

TEST_CASE("report: the time until a loss is given on the clusters of the whole run's answer, in every answer") {
  std::vector<Run> runs;
  add(runs, options_of("adam"), {1.2, 1.2}, {10, 4, 1.3, 1.25, 1.24, 1.23, 1.22, 1.21, 1.2, 1.2});
  add(runs, options_of("signum"), {1.2, 1.2}, {10, 9, 8, 3, 1.25, 1.24, 1.23, 1.22, 1.21, 1.2});
  add(runs, options_of("sgd"), {1.3, 1.3}, {10, 9, 8, 7, 6, 5, 4, 3, 2.5, 2});
  const Report report = report_on_fewer_bytes(std::move(runs), 100);
  for (const std::string arm : {"signum", "sgd"}) {
    const TargetCosts& costs = report.target_costs.at(arm);
    CAPTURE(arm, costs.text);
    CHECK(costs.in_answer);
    const std::string eth1 =
        arm == "sgd" ? "long on eth1( \\([^)]*\\))? and " : "fast on eth1( \\([^)]*\\))?, but takes ";
    CHECK_THAT(costs.text, Matches(".* times as " + eth1 + ".* times as long on ib100( \\([^)]*\\))?\\."));
  }
}

TEST_CASE("report: evaluations that are far apart still bound the costs of a loss") {
  std::vector<Run> runs;
  add(runs, options_of("adam"), {1.2, 1.2}, {10, 1.25, 1.24, 1.23, 1.22});  // at 1.3 between steps 0 and 2
  add(runs, options_of("sgd"), {1.3, 1.3}, {10, 9, 8, 7, 6});               // between steps 8 and 10
  for (Run& run : runs) {
    if (run.header.config.front().second == "sgd") run.summary.bytes = 2400;
    for (sim::EvaluationRow& row : run.evaluations) row.bytes = run.summary.bytes * static_cast<double>(row.step) / 10;
  }
  const TargetCosts costs = report_on(std::move(runs)).target_costs.at("sgd");
  // adam: at most 960 bytes; sgd: at least 1,920
  CHECK_THAT(costs.text, StartsWith("To reach a loss of 1.3 it sends at least 2 times as many bytes and takes at least "
                                    "an estimated 4 times as long on eth1; "));
  CHECK(costs.in_answer);
}

TEST_CASE("report: evaluations that are far apart bound the time on every cluster that the answer names") {
  std::vector<Run> runs;  // both arms reach 1.3 between steps 4 and 6
  add(runs, options_of("adam"), {1.2, 1.2}, {10, 9, 8, 1.25, 1.2});
  add(runs, options_of("sgd"), {1.3, 1.3}, {10, 9, 8, 1.3, 1.3});
  const Report report = report_on_fewer_bytes(std::move(runs), 1000);
  const Speed speed = speeds_of(pair_of(report, report.comparison.verdicts.front())).at(1);
  const TargetCosts& costs = report.target_costs.at("sgd");
  CHECK(costs.text == "To reach a loss of 1.3 it takes at least an estimated " + number(4 / 6. / speed.high, 3) +
                          " times as long on ib100; evaluations are too far apart for a closer estimate.");
  CHECK(costs.in_answer);
}

TEST_CASE("report: costs of a loss are compared with those of the run on every cluster that the answer names") {
  const TargetCosts slower = costs_of_messages(1, 150, 1);  // until the loss it takes longer than over the run
  CHECK_THAT(slower.text,
             StartsWith("To reach a loss of 1.3 it sends the same number of bytes and takes an estimated ") &&
                 Contains(" times as long on ib100 (") && Contains(" with its exchange times ±20%) and may take ") &&
                 EndsWith(" with its exchange times ±50%)."));
  CHECK_FALSE(slower.in_answer);                              // it saves no time over the run either
  const TargetCosts weaker = costs_of_messages(150, 150, 1);  // only over the run is it faster
  CHECK(weaker.text == "To reach a loss of 1.3 it sends the same number of bytes.");
  CHECK(weaker.in_answer);
  CHECK(costs_of_messages(1, 1, 1).text.empty());
}

TEST_CASE("report: the final loss of an arm that rose is the range over its seeds") {
  std::vector<Run> runs;
  add(runs, options_of("adam", "0.1"), {1, 1.1, 1.2});
  add(runs, options_of("adam", "1"), {0.5, 20, 3e6});
  const Report report = report_on(std::move(runs));
  CHECK(final_loss_text(report.comparison.arms[1]) == "0.5 to 3e+06");
  CHECK_THAT(final_loss_text(report.comparison.arms[0]), StartsWith("1.10 ± "));
  const std::vector<std::string> lines = cautions_of(report);
  CAPTURE(lines);
  CHECK(std::ranges::count(
            lines,
            "Ended above the starting loss: lr 1 (its mean, and 2 of 3 finished seeds; final losses 0.5 to 3e+06).") ==
        1);
  const std::string map = loss_map_html(report);
  CHECK_THAT(map, Contains("<td data-label=\"learning rate 1\" class=\"diverged\">0.5 to 3e+06</td>"));
  CHECK_THAT(map, Contains("<td data-label=\"learning rate 0.1\" class=\"least\" style=\"--rank:1\">"));
}

TEST_CASE("report: a rate has the same dashes in every grid, and the best one of a grid has none") {
  std::vector<Run> runs;
  for (const std::string optimizer : {"adam", "sgd"}) {
    for (const std::string rate : {"0.01", "0.1", "1"})
      add(runs, options_of(optimizer, rate), {(optimizer == "adam") == (rate == "0.01") ? 1.0 : 2.0});
  }
  add(runs, options_of("signum", "3"), {1.0});
  const Report report = report_on(std::move(runs));
  const std::string json = chart_data(report.comparison, report.shown).text();
  const auto dash_of = [&](const std::string& arm) {
    const std::size_t at = json.find("\"dash\": ", json.find("\"name\": \"" + arm + "\"")) + 8;
    return json.substr(at, json.find(',', at) - at);
  };
  CHECK(dash_of("adam, lr 0.01") == "0");
  CHECK(dash_of("adam, lr 0.1") == "2");
  CHECK(dash_of("adam, lr 1") == "3");
  CHECK(dash_of("sgd, lr 0.01") == "1");
  CHECK(dash_of("sgd, lr 1") == "3");
  CHECK(dash_of("signum, lr 3") == "0");
}

TEST_CASE("report: costs of a loss are given where evaluations are close, and in the answer if they qualify it") {
  const auto report_with = [](double target, std::vector<double> here) {
    std::vector<Run> runs;
    add(runs, options_of("adam"), {1.2, 1.2});
    const double end = here.back();
    here.pop_back();
    add(runs, options_of("sgd"), {end, end}, here);
    for (Run& run : runs) {
      if (run.header.config.front().second == "sgd") run.summary.bytes = 1200;
      for (sim::EvaluationRow& row : run.evaluations)
        row.bytes = run.summary.bytes * static_cast<double>(row.step) / 10;
      run.summary.workers = run.header.config.front().second == "sgd" ? 8 : 4;
      run.exchanges.clear();
    }
    ReportRequest request;
    request.comparison.target = target;
    return report_of({std::move(runs), {}}, request, netmodel::LinkLoad());
  };
  const double none = std::numeric_limits<double>::quiet_NaN();
  // adam falls to 1.2 in the last step; sgd as late, which is like the whole run, or in the eighth, or not before.
  const auto costs = [&](double target, const std::vector<double>& here) {
    return report_with(target, here).target_costs.at("sgd");
  };
  CHECK(costs(none, {10, 5, 4, 3, 2.5, 2.4, 2.3, 2.2, 2.1, 2, 1.2}).text.empty());
  const TargetCosts sooner = costs(none, {10, 5, 4, 3, 2.5, 2.4, 2.3, 2.2, 1.2, 1.15, 1.1});
  CHECK_THAT(sooner.text, StartsWith("To reach a loss of 1.2 it sends 5 times fewer bytes per worker"));
  CHECK_FALSE(sooner.in_answer);
  const TargetCosts later = costs(none, {10, 1.3, 1.25, 1.22, 1.21, 1.21, 1.21, 1.21, 1.21, 1.21, 1.19});
  CHECK(later.text.empty());                               // as over the whole run
  const std::vector<double> late = {10, 9, 8, 7, 3, 1.2};  // every other step
  const TargetCosts given = costs(3, late);                // sgd: between steps 6 and 8
  CHECK_THAT(given.text, Contains("is reached between evaluations that are too far apart"));
  CHECK(given.in_answer);
  CHECK_THAT(costs(2.2, late).text, StartsWith("To reach a loss of 2.2 it sends "));
}

TEST_CASE("report: it says why the mean losses differ the other way than the paired ratios") {
  const auto evidence = [](const std::vector<double>& here) { return answers_html(two_arms({1, 1, 1}, here)); };
  CHECK_THAT(
      evidence({0.5, 0.9, 1.8}),
      Contains(" Its mean loss is higher, because an arithmetic mean gives more weight to high losses of individual "
               "seeds than a geometric mean does."));
  CHECK_THAT(evidence({0.5, 0.9, 1.1}), !Contains(" Its mean loss is "));
  CHECK_THAT(evidence({0.9, 0.9, 0.9, 9}),
             Contains(" Its mean loss is higher, because it includes seeds that only one of the arms has."));
}
