// Reports through the program: the contents of the page, its validity as HTML in browsers, its table and its pictures.

#include <limits>
#include <regex>

#include "experiments/output/comparison_output.hpp"
#include "experiments/report/clusters.hpp"
#include "experiments/report/live.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::experiments;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

/// Two optimizers at two learning rates, two seeds each, probed; one of the arms diverges.
void run_arms(const Folder& folder) {
  const Outcome run = run_onebit(folder, tiny_run("compare", {"-o",
                                                              "arms",
                                                              "--seeds",
                                                              "2",
                                                              "--steps",
                                                              "40",
                                                              "--probe.every",
                                                              "5",
                                                              "--optimizer.beta2",
                                                              "0.9",
                                                              "--freeze",
                                                              "fixed:10",
                                                              "--arm",
                                                              "adam:optimizer=adam",
                                                              "--arm",
                                                              "onebit:optimizer=onebit-adam",
                                                              "--arm",
                                                              "fast:optimizer=onebit-adam,optimizer.lr=2e-3",
                                                              "--arm",
                                                              "mad:optimizer=adam,optimizer.lr=1e30"}));
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
}

Outcome report(const Folder& folder, const Arguments& more = {}) {
  return run_onebit(folder, joined({"report", "arms", "-o", "report.html"}, more));
}

/// Returns the exit status of tests/experiments/check_page.py and its output.
Outcome check_page(const Folder& folder, const Arguments& arguments) {
  Outcome result;
  for (const std::string python : {"python3", "/usr/bin/python3"}) {  // the system's has modules of packages
    result = run_in(folder, joined({python, source_path("tests/experiments/check_page.py")}, arguments));
    if (result.status != 77) break;
  }
  return result;
}

/// Checks a report; skips the test if what the check needs is not installed.
void check_report(const std::string& kind, const std::string& capability) {
  const Folder folder;
  run_arms(folder);
  REQUIRE(report(folder).status == 0);
  const Outcome checked = check_page(folder, {kind, "report.html"});
  ONEBIT_SKIP_UNLESS(checked.status != 77, capability, "python3 has nothing for it, or a program is missing");
  CAPTURE(checked.out, checked.err);
  CHECK(checked.status == 0);
}

}  // namespace

TEST_CASE("report: one page with everything in it") {
  const Folder folder;
  run_arms(folder);
  const Outcome run = report(folder);
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  CHECK(run.out == "report.html\n");
  const std::string page = read_file(folder / "report.html");
  CHECK_THAT(page, StartsWith("<!DOCTYPE html>"));
  for (const char* part : {"model mlp",
                           "data synthetic",
                           "8 runs",
                           "the same final loss as adam",
                           "In the same 40 steps it sends ",
                           "some of these took up to 2.9 times as long when measured.",
                           "<li>A step computes for ",
                           "Diverged: mad (2 of 2 seeds)",
                           "vs fp16:",
                           "paired seeds",
                           "Verdicts",
                           "comparison",
                           "Variance and freeze",
                           "DeepSpeed freeze_step",
                           "Network",
                           "ib100",
                           "Theory",
                           "sigma of a worker",
                           " of the bound of 1-bit Adam",
                           "telescoping of errors",
                           "Runs",
                           "How to repeat the runs",
                           "<span>onebit run</span> <span>--model mlp</span>"}) {
    INFO(part);
    CHECK_THAT(page, Contains(part));
  }
  // The answer stands before the curves, and those before all else.
  CHECK(page.find("class=\"answer") < page.find("id=\"chart\""));
  CHECK(page.find("id=\"chart\"") < page.find("<details id=\"all-arms"));
}

TEST_CASE("report: an answer has the steps of runs by epochs, the accuracy and the cost of the target") {
  const Folder folder;
  const Arguments arms =
      tiny_run("compare", {"-o", "arms", "--seeds", "3", "--steps", "0", "--epochs", "5", "--eval.every", "1",
                           "--eval.examples", "20", "--arm", "fast:optimizer=adam,optimizer.lr=0.03", "--arm",
                           "slow:optimizer=sgd,optimizer.lr=1e-4"});
  REQUIRE(run_onebit(folder, arms).status == 0);
  REQUIRE(report(folder).status == 0);
  const std::string page = read_file(folder / "report.html");
  // 180 examples for training, 4 of them in a step
  CHECK_THAT(page, Contains(" 225 steps ") && !Contains(" 0 steps "));
  CHECK_THAT(page, Contains("In the same 225 steps it sends the same number of bytes and takes about the same time."));
  CHECK_THAT(page, Contains("slow ends at a higher loss than fast, "));
  CHECK_THAT(page, Contains("<li>Its accuracy is ") && Contains(" points lower (95% interval -"));
  CHECK_THAT(page, Contains("<li>To reach a loss of ") && Contains(" times as many bytes and "));
}

TEST_CASE("report: the commands that repeat the runs do so", "[once]") {
  const Folder folder;
  run_arms(folder);
  REQUIRE(report(folder).status == 0);
  std::string page = read_file(folder / "report.html");
  page = page.substr(page.find("How to repeat the runs"));
  page = std::regex_replace(page, std::regex("</?span>"), "");
  const std::string command =
      page.substr(page.find("onebit run "), page.find(" -o adam-1.h5") - page.find("onebit run "));
  Arguments arguments;
  for (std::istringstream words(command.substr(7)); !words.eof();) words >> arguments.emplace_back();
  REQUIRE(run_onebit(folder, joined(arguments, {"-o", "repeated.h5"})).status == 0);
  CHECK(run_onebit(folder, {"export", "repeated.h5", "--table", "evaluations"}).out ==
        run_onebit(folder, {"export", "arms/adam-1.h5", "--table", "evaluations"}).out);
}

TEST_CASE("report: a title, some arms, the best rates, one JSON object", "[once]") {
  const Folder folder;
  run_arms(folder);
  REQUIRE(report(folder, {"--title", "A & B", "--arms", "adam,onebit"}).status == 0);
  const std::string page = read_file(folder / "report.html");
  CHECK_THAT(page, Contains("<h1>A &amp; B</h1>") && Contains("2 arms, 4 runs") && !Contains("mad-1.h5"));
  REQUIRE(report(folder, {"--best", "--overwrite"}).status == 0);
  CHECK_THAT(read_file(folder / "report.html"), Contains("2 arms, 4 runs"));
  // Arms that the verdicts name stay, even if they are at no best rate.
  REQUIRE(report(folder, {"--best", "--baseline", "onebit", "--overwrite"}).status == 0);
  CHECK_THAT(read_file(folder / "report.html"), Contains("3 arms, 6 runs"));
  const Outcome json = run_onebit(folder, {"report", "arms", "--json"});
  CAPTURE(json.err);
  CHECK(json.status == 0);
  CHECK_THAT(json.out, StartsWith("{\"baseline\": \"adam\""));
  CHECK_THAT(report(folder, {"--overwrite", "--arms", "adm"}).err,
             Contains("no arm has this name") && Contains("adam"));
}

TEST_CASE("report: every control of the chart works", "[once]") {
  check_report("clicks", "chromium");
}

TEST_CASE("report: an arm that diverged has a row next to those with a best rate", "[once]") {
  const Folder folder;
  const Arguments arms = tiny_run("compare", {"-o", "arms", "--seeds", "2", "--steps", "20", "--arm",
                                              "adam:optimizer=adam", "--arm", "mad:optimizer=sgd,optimizer.lr=1e30"});
  REQUIRE(run_onebit(folder, arms).status == 0);
  REQUIRE(report(folder).status == 0);
  const std::string page = read_file(folder / "report.html");
  CHECK_THAT(page, Contains("mad, which diverged with 2 of 2 seeds, cannot be compared with adam.") &&
                       Contains(">1e+30 (only one)</td><td data-label=\"final loss\">diverged</td>") &&
                       Contains("it diverged; the learning rate was 1e+30"));  // sgd never freezes
}

TEST_CASE("report: a grid in which every rate diverged has no best rate, with --best, too", "[once]") {
  const Folder folder;
  const Arguments arms = tiny_run(
      "sweep", {"-o", "arms", "--seeds", "2", "--steps", "20", "--arm", "adam:optimizer=adam", "--arm",
                "mad:optimizer=sgd", "--axis", "optimizer.lr=0.01,1e29,1e30", "--skip", "arm=mad,optimizer.lr=0.01"});
  REQUIRE(run_onebit(folder, arms).status == 0);
  const Arguments all = {"--overwrite"}, best = {"--overwrite", "--best"};
  for (const Arguments& more : {all, best}) {
    REQUIRE(report(folder, more).status == 0);
    CHECK_THAT(read_file(folder / "report.html"),
               Contains(">none of 2</td><td data-label=\"final loss\">diverged</td>") && !Contains("(best of 2)"));
  }
}

TEST_CASE("report: a baseline that is not at its best rate keeps its rate in every sentence", "[once]") {
  const Folder folder;
  const Arguments arms =
      tiny_run("sweep", {"-o", "arms", "--seeds", "2", "--steps", "60", "--arm", "adam:optimizer=adam", "--arm",
                         "sgd:optimizer=sgd", "--axis", "optimizer.lr=0.001,0.1"});
  REQUIRE(run_onebit(folder, arms).status == 0);
  REQUIRE(report(folder, {"--baseline", "adam, lr 0.001"}).status == 0);
  CHECK_THAT(read_file(folder / "report.html"),
             Contains("reach the same final loss as adam (lr 0.001), and what") &&
                 Contains(">adam, lr 0.001</td><td data-label=\"learning rate\">0.001</td>") &&
                 !Contains("(the best of adam is the smallest)"));
}

TEST_CASE("report: the cost of a loss is that at the quickest rates, which --best does not show", "[once]") {
  const Folder folder;  // the higher rate of adam is soon lower, but ends higher
  const Arguments arms = tiny_run(
      "sweep", {"-o", "arms", "--seeds", "2", "--steps", "200", "--eval.every", "1", "--eval.examples", "12", "--arm",
                "adam:optimizer=adam", "--arm", "sgd:optimizer=ef-sgd", "--axis", "optimizer.lr=0.01,0.1"});
  REQUIRE(run_onebit(folder, arms).status == 0);
  const auto page = [&](const std::string& target, const Arguments& more = {}) {
    REQUIRE(report(folder, joined({"--overwrite", "--target", target}, more)).status == 0);
    return read_file(folder / "report.html");
  };
  const Arguments all = {}, best = {"--best"};
  for (const Arguments& more : {all, best}) {
    CHECK_THAT(page("0.5", more), Contains("A loss of 0.5 was reached at an evaluation by 0 of 2 runs of sgd (lr 0.1) "
                                           "and 2 of 2 runs of adam (lr 0.1)"));
    CHECK_THAT(page("1.2", more),
               Contains("To reach a loss of 1.2 at the learning rates that get there soonest on ib100 (sgd 0.1, adam "
                        "0.1), it may send 1.17 times as many bytes (95% interval "));
  }
  CHECK_THAT(page("100"), Contains(" starts at or below a loss of 100."));
}

TEST_CASE("report: the page of one run says how far it got, and its controls work", "[once]") {
  const Folder folder;
  REQUIRE(run_onebit(folder, tiny_run("run", {"--steps", "40", "--optimizer", "adam", "-o", "a.h5"})).status == 0);
  REQUIRE(run_onebit(folder, {"report", "a.h5", "-o", "report.html"}).status == 0);
  const std::string page = read_file(folder / "report.html");
  CHECK_THAT(page, Contains("What final loss does adam reach, and how many bytes does it send?") &&
                       Contains("adam ends at a loss of ") && Contains(" at the start; each worker sent ") &&
                       Contains(", as much as dense fp32 (2x more than fp16).</p>") &&
                       Contains("<p class=\"costs\">The run takes an estimated ") && !Contains("'onebit price LOG'"));
  const Outcome checked = check_page(folder, {"clicks", "report.html"});
  ONEBIT_SKIP_UNLESS(checked.status != 77, "chromium", "python3 has nothing for it, or a program is missing");
  CAPTURE(checked.out, checked.err);
  CHECK(checked.status == 0);
}

TEST_CASE("report: single seeds cannot be asked for where each arm has one run", "[once]") {
  const Folder folder;
  run_arms(folder);
  REQUIRE(run_onebit(folder, {"report", "arms/adam-1.h5", "arms/fast-1.h5", "-o", "report.html"}).status == 0);
  const Outcome checked = check_page(folder, {"clicks", "report.html"});
  ONEBIT_SKIP_UNLESS(checked.status != 77, "chromium", "python3 has nothing for it, or a program is missing");
  CAPTURE(checked.out, checked.err);
  CHECK(checked.status == 0);
}

TEST_CASE("report: it says what the clusters are, what takes time there, and which runs went wrong", "[once]") {
  const Folder folder;
  run_arms(folder);
  REQUIRE(report(folder, {"--cluster", "eth10,ib100"}).status == 0);
  const std::string page = read_file(folder / "report.html");
  CHECK_THAT(
      page,
      Contains("eth10: 10 Gb/s Ethernet, TCP; here 2 nodes x 1 GPU (a100); a network link carries 8.8 Gb/s; "
               "a message has a latency of 35 us with NCCL's protocol &quot;Simple&quot;, and less if it is small "
               "(estimated).") &&
          Contains("Time of a step on eth10: adam") && Contains("(latency ") &&
          Contains("Fewer bytes mainly reduce the sending time, ") && Contains("parts of a mean step") &&
          Contains("on ib100"));
  CHECK_THAT(page, Contains(">Problems</h3>") && Contains("<li>mad, seeds 1, 2: it diverged") &&
                       Contains(" (arms/mad-1.h5 and 1 more)"));
  // Numbers in which the runs differ are ranges.
  CHECK(std::regex_search(page, std::regex("<li>mad, seeds 1, 2: [^<]*the loss [0-9.]+–[0-9.]+ at first")));
  CHECK_THAT(page, Contains("The colours mean the same in the maps of all arms.") || !Contains("Stability by tensor"));
}

TEST_CASE("report: the caption of the stability follows the runs", "[once]") {
  const auto caption = [](const std::vector<Arguments>& runs) {
    const Folder folder;
    Arguments logs = {"report", "-o", "report.html"};
    for (const Arguments& more : runs) {
      logs.push_back("run" + std::to_string(logs.size()) + ".h5");
      REQUIRE(
          run_onebit(folder, tiny_run("run", joined({"-o", logs.back(), "--steps", "30", "--optimizer", "onebit-adam",
                                                     "--optimizer.beta2", "0.9", "--freeze.lag", "2"},
                                                    more)))
              .status == 0);
    }
    REQUIRE(run_onebit(folder, logs).status == 0);
    const std::string page = read_file(folder / "report.html");
    const std::size_t at = page.find("in one run of each arm.");
    return at == page.npos ? "" : page.substr(at, page.find('<', at) - at);
  };
  const Arguments ended = {"--freeze", "fixed:10"}, probed = {"--freeze", "fixed:12", "--probe.every", "2"};
  const bool drawn = std::system("command -v gnuplot >/dev/null 2>&1") == 0;
  ONEBIT_SKIP_UNLESS(drawn, "gnuplot", "not installed");
  CHECK_THAT(caption({ended}), EndsWith("Dashed lines mark freeze steps. The curves of the runs that froze their "
                                        "variance end at the freeze."));
  CHECK_THAT(caption({probed}), EndsWith("The curves continue after the freeze with the shadow variance."));
  CHECK_THAT(caption({ended, probed}),
             Contains("fixed:12 continue after the freeze with the shadow variance; those of ") &&
                 EndsWith("fixed:10 end at the freeze."));
  CHECK_THAT(caption({{"--freeze", "never"}}), EndsWith("in one run of each arm. No run froze."));
}

TEST_CASE("report: a line of AUC against bytes is named by the whole words that its arms share") {
  const auto label = [](const std::string& a, const std::string& b) {
    analysis::Comparison comparison;
    std::vector<analysis::Arm> arms;
    for (const std::string& name : {a, b}) {
      arms.push_back({name, {{"boundary.k", name}}, {}});
      analysis::ArmFigures figures;
      figures.name = name;
      comparison.arms.push_back(std::move(figures));
    }
    return boundary_figures(arms, comparison).at(0).plot.curves.at(0).label;
  };
  CHECK(label("adam, k 0.05", "adam, k 0.01") == "adam, k");
  CHECK(label("dct-5", "dct-50") == "dct");
  CHECK(label("dct-5", "dct") == "dct");
  CHECK(label("k 1e-05", "k 1e-04") == "k");
  CHECK(label("dct-1e-5", "dct-1e-4") == "dct");
  CHECK(label("adam, 0.5", "adam, 0.6") == "adam");
}

TEST_CASE("report: what takes time in a step, and what grew against the baseline") {
  const auto arm = [](const std::string& name, double computing, double sending, double coding) {
    netmodel::StepEstimate step;
    step.forward.value = computing;
    step.exchange.bandwidth.value = step.communication.value = sending;
    step.codec.value = coding;
    step.step.value = computing + sending + coding;
    analysis::ArmFigures figures;
    figures.name = name;
    figures.times.push_back({{}, {}, {step}});
    return figures;
  };
  Report report;
  report.comparison.clusters.resize(1);
  report.comparison.clusters.front().name = "net";
  report.comparison.arms = {arm("dense", 5, 2, 0), arm("bits", 5, 1, 2), arm("alone", 5, 0, 0), arm("failed", 0, 0, 0)};
  const std::vector<analysis::ArmFigures>& arms = report.comparison.arms;
  for (const analysis::ArmFigures& each : arms) report.shown.push_back(each.name);
  CHECK(parts_line(report) ==
        "Time of a step on net: dense: 7 s (computing 71%, sending 29%); bits: 8 s (computing 63%, coding 25%, sending "
        "13%); alone: 5 s (computing 100%). Fewer bytes mainly reduce the sending time, which includes the time "
        "for the first piece of a vector to pass through all hops. The latency depends on the number of messages and, "
        "less, on their size.");
  CHECK(grown_part(arms[1], arms[0], 0) == "coding: 2 s more in a step");
  CHECK(grown_part(arms[2], arms[0], 0).empty());
  analysis::ArmFigures few = arm("few", 5, 1, 0), many = few;
  few.step_messages.mean = 6;
  many.step_messages.mean = 39.6;
  many.times[0].steps[0].exchange.latency.value = 3;
  many.times[0].steps[0].communication.value = 4;
  CHECK(grown_part(many, few, 0) ==
        "latency: 3 s more in a step, in which a worker sends 39.6 messages on average instead of 6");
  report.shown = {"failed"};
  CHECK(parts_line(report).empty());
}

TEST_CASE(
    "report: an answer has the range of times, the dense steps and the clusters where an arm gains most and least") {
  const Folder folder;
  const Arguments arms =
      tiny_run("compare", {"-o", "arms", "--seeds", "2", "--steps", "40", "--optimizers", "adam,onebit-adam",
                           "--freeze", "fixed:10", "--model.layers", "4,500,3", "--optimizer.granularity", "fused"});
  REQUIRE(run_onebit(folder, arms).status == 0);
  const Arguments given = {"--cluster", "ib100,eth25,eth1", "--step.forward", "4us", "--step.backward", "8us"};
  REQUIRE(report(folder, given).status == 0);
  const std::string page = read_file(folder / "report.html");
  const std::regex faster(
      "(is an estimated|may be) [0-9.]+ times as fast on eth1 \\([0-9.]+ to [0-9.]+ with its exchange times ±50%\\), "
      "but "
      "(takes an estimated|may take) [0-9.]+ times as long on ib100 \\([0-9.]+ to [0-9.]+ with its exchange times "
      "±20%\\)");
  const std::regex stages("Its 10 dense steps send [0-9]+% of its bytes; after them a step with an exchange sends ");
  CHECK(std::regex_search(page, faster));
  CHECK(std::regex_search(page, stages));
  CHECK_THAT(page, Contains("<li>A step computes for 12 us; the longer it computes, the less the exchanges matter.<"));
  CHECK_THAT(page, Contains("<li>It is slower on ib100 because of latency: ") && !Contains(" times as long on eth25"));
}

TEST_CASE("report: the baselines of ratios that the table of arms shows, and no other") {
  analysis::ArmFigures arm;
  arm.ratio_fp16.baseline = "half";
  arm.ratio_fp32.baseline = "single";
  arm.boundary_bytes.mean = 5;
  CHECK(baselines_of({arm}) == "vs fp32: bytes of single, divided by those sent");
  arm.boundary_bytes.mean = std::numeric_limits<double>::quiet_NaN();
  CHECK(baselines_of({arm}) ==
        "vs fp16: bytes of half, divided by those sent; vs fp32: bytes of single, divided by those sent");
}

TEST_CASE("watch: an update is made anew only where a file has changed") {
  const Folder folder;
  REQUIRE(run_onebit(folder, tiny_run("run", {"-o", "run.h5", "--steps", "20"})).status == 0);
  const auto model = netmodel::make_cost_model({});
  LivePage page({folder / "run.h5"}, {.comparison = {}, .variance = {}}, "", *model);
  const std::string first = page.update();
  CHECK_THAT(first, Contains("1 of 1 run finished"));
  const auto written = std::filesystem::last_write_time(folder / "run.h5");
  const std::string log = read_file(folder / "run.h5");
  write_file(folder / "run.h5", std::string(std::filesystem::file_size(folder / "run.h5"), 'x'));
  std::filesystem::last_write_time(folder / "run.h5", written);
  CHECK(page.update() == first);
  std::filesystem::last_write_time(folder / "run.h5", written + std::chrono::seconds(1));
  CHECK_THAT(page.update(), Contains("Nothing to show yet"));
  // What could not be read is read anew, even if its time and size stay the same.
  write_file(folder / "run.h5", log);
  std::filesystem::last_write_time(folder / "run.h5", written + std::chrono::seconds(1));
  CHECK(page.update() == first);
}

TEST_CASE("watch: the page of a folder is served to those who know the address, and nothing is written", "[once]") {
  const Folder folder;
  run_arms(folder);
  const Outcome checked = check_page(folder, {"watch", ONEBIT_PROGRAM, "arms"});
  ONEBIT_SKIP_UNLESS(checked.status != 77, "chromium", "python3 has nothing for it, or a program is missing");
  CAPTURE(checked.out, checked.err);
  CHECK(checked.status == 0);
  CHECK_THAT(run_onebit(folder, {"watch"}).err, Contains("no folder named"));
  CHECK_THAT(run_onebit(folder, {"watch", "arms", "--address", "here"}).err, Contains("not an IPv4 address"));
  CHECK(run_onebit(folder, {"watch", "arms", "--port", "70000"}).status == 2);
}

TEST_CASE("report: texts of users are text, not HTML") {
  const Folder folder;
  const std::string name = "a&b<script>.h5";
  REQUIRE(run_onebit(folder, tiny_run("run", {"-o", name, "--steps", "20"})).status == 0);
  REQUIRE(run_onebit(folder, {"report", name, "-o", "report.html"}).status == 0);
  const std::string page = read_file(folder / "report.html");
  CHECK_THAT(page, Contains("a&amp;b&lt;script&gt;.h5"));
  CHECK(page.find("b<script>") == std::string::npos);
}

TEST_CASE("report: the page is without a parse error and loads nothing", "[once]") {
  check_report("html", "html5lib");
}

TEST_CASE("report: a browser reports nothing, wide and narrow, and nothing scrolls sideways", "[once]") {
  check_report("browser", "chromium");
}

TEST_CASE("report: curves as one table, pictures as files", "[once]") {
  const Folder folder;
  run_arms(folder);
  const Outcome table = run_onebit(folder, {"report", "arms", "-o", "report.csv", "--csv"});
  REQUIRE(table.status == 0);
  const std::string csv = read_file(folder / "report.csv");
  CHECK_THAT(
      csv,
      StartsWith("arm,seed,log,status,step,samples,bytes,loss,accuracy,auc\nadam,1,arms/adam-1.h5,finished,0,0,0,"));
  CHECK_THAT(csv, Contains("\nmad,2,arms/mad-2.h5,diverged,"));
  ONEBIT_SKIP_UNLESS(std::system("command -v gnuplot >/dev/null 2>&1") == 0, "gnuplot", "not installed");
  const Outcome pictures = report(folder, {"--png"});
  CAPTURE(pictures.err);
  REQUIRE(pictures.status == 0);
  for (const char* file :
       {"report-loss-steps.png", "report-loss-bytes.svg", "report-variance.png", "report-loss-time-eth10.svg"}) {
    CHECK_THAT(pictures.out, Contains(file));
    CHECK(std::filesystem::file_size(folder / file) > 1000);
  }
}

TEST_CASE("report: loss against samples where arms take different numbers of them per step", "[once]") {
  ONEBIT_SKIP_UNLESS(std::system("command -v gnuplot >/dev/null 2>&1") == 0, "gnuplot", "not installed");
  const Folder folder;
  const auto samples = [&](const std::string& other) {
    const Outcome runs = run_onebit(folder, tiny_run("compare", {"-o", "arms", "--overwrite", "--eval.every", "2",
                                                                 "--arm", "a:batch=2", "--arm", "b:" + other}));
    CAPTURE(runs.err);
    REQUIRE(runs.status == 0);
    const Outcome page = run_onebit(folder, {"report", "arms", "-o", "report.html", "--overwrite", "--png"});
    CAPTURE(page.err);
    REQUIRE(page.status == 0);
    return page.out.find("loss-samples.png") != page.out.npos;
  };
  CHECK(samples("batch=4"));
  CHECK_FALSE(samples("optimizer.lr=1e-2"));
}

TEST_CASE("report: damaged logs are left out and named, outputs are not overwritten unasked") {
  const Folder folder;
  run_arms(folder);
  write_file(folder / "arms/adam-2.h5", "no log");
  const Outcome run = report(folder);
  REQUIRE(run.status == 0);
  CHECK_THAT(run.err, StartsWith("onebit: warning: left out: ") && Contains("adam-2.h5"));
  CHECK_THAT(read_file(folder / "report.html"), Contains("4 arms, 7 runs") && Contains("Logs that were left out"));
  const Outcome again = report(folder);
  CHECK(again.status == 2);
  CHECK_THAT(again.err, Contains("output exists"));
  CHECK(report(folder, {"--overwrite"}).status == 0);
  CHECK(run_onebit(folder, {"report", "-o", "x.html"}).status == 2);
  CHECK(run_onebit(folder, {"report", "arms", "-o", "arms"}).status == 2);
}
