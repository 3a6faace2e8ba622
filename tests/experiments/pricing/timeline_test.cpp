// A log has one price: run, price, compare, analyze and report name the same stages and give the same times.

#include "optim/optimizer.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

struct TestArm {
  std::string name;
  Arguments options;  ///< key=value
};

/// Every optimizer, and ef-momentum-sgd with every channel: matrices and masked values that are summed as float32,
/// payloads whose size depends on the data, and a tree.
std::vector<TestArm> all_arms() {
  std::vector<TestArm> arms;
  for (const optim::OptimizerEntry& entry : optim::optimizers()) {
    const std::string name(entry.name);
    arms.push_back({name, {"optimizer=" + name}});
  }
  for (const std::string codec : {"power-sgd", "count-sketch", "threshold", "fp32", "random-k"}) {
    arms.push_back({"codec-" + codec, {"optimizer=ef-momentum-sgd", "codec=" + codec, "codec.k=0.3", "codec.rank=1"}});
  }
  arms.push_back({"tree", {"optimizer=ef-sgd", "codec=top-k", "codec.k=0.2", "channel=tree"}});
  arms.push_back({"gather", {"optimizer=ef-sgd", "codec=top-k", "codec.k=0.2", "channel=gather"}});
  return arms;
}

const Arguments common = {"--workers",
                          "4",
                          "--steps",
                          "12",
                          "--eval.every",
                          "3",
                          "--freeze",
                          "fixed:4",
                          "--optimizer.var-freeze-step",
                          "6",
                          "--optimizer.local-period",
                          "4"};
const Arguments prices = {"--cluster",       "eth1", "--step.forward", "1ms",
                          "--step.backward", "2ms",  "--step.overlap", "none"};

/// Returns the summary by `run` of a log that `compare` wrote.
Outcome summary_of(const Folder& folder, const TestArm& arm) {
  Arguments arguments = tiny_run("run", joined(common, {"-o", "out/" + arm.name + "-1.h5", "--resume", "--json"}));
  for (const std::string& option : arm.options) {
    const std::size_t equals = option.find('=');
    arguments.push_back("--" + option.substr(0, equals));
    arguments.push_back(option.substr(equals + 1));
  }
  return run_onebit(folder, arguments);
}

/// Returns the first list of stages, e.g. "warmup 0.012 compression 0.0063".
std::string stages_in(const std::string& json) {
  const std::size_t begin = json.find("\"stages\": [");
  REQUIRE(begin != std::string::npos);
  std::string rest = json.substr(begin, json.find(']', begin) - begin), text;
  for (std::size_t at = rest.find("{\"stage\""); at != std::string::npos; at = rest.find("{\"stage\"", at + 1)) {
    const std::string stage = rest.substr(at, rest.find('}', at) - at + 1);
    text += json_value(stage, "stage") + " " + json_value(stage, "communication_seconds") + " ";
  }
  return text;
}

std::string behind(const std::string& text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  CAPTURE(mark);
  REQUIRE(at != std::string::npos);
  return text.substr(at + mark.size());
}

/// Returns the text of a page without its elements.
std::string words_of(const std::string& html) {
  std::string text;
  bool element = false;
  for (const char c : html) {
    if (c == '<') element = true;
    if (!element && c != '\n') text += c;
    if (c == '>') element = false, text += ' ';
  }
  return text;
}

/// every: the distance of the logged steps
void check_agreement(const std::string& every) {
  const Folder folder;
  const std::vector<TestArm> arms = all_arms();
  Arguments command = tiny_run("compare", joined(joined(common, prices), {"-o", "out", "--json"}));
  for (const TestArm& arm : arms) {
    std::string text = arm.name + ":";
    for (const std::string& option : arm.options) text += (text.back() == ':' ? "" : ",") + option;
    command = joined(command, {"--arm", text});
  }
  const Outcome compared = run_onebit(folder, joined(command, {"--log.every", every}));
  CAPTURE(compared.err);
  REQUIRE(compared.status == 0);
  const Outcome analyzed = run_onebit(folder, joined({"analyze", "out", "--json"}, prices));
  const Outcome shown = run_onebit(folder, joined({"analyze", "out"}, prices));
  CAPTURE(analyzed.err, shown.out);
  REQUIRE(analyzed.status == 0);
  REQUIRE(run_onebit(folder, joined({"report", "out", "-o", "report.html"}, prices)).status == 0);
  const std::string page = words_of(read_file(folder / "report.html"));
  for (const TestArm& arm : arms) {
    const Outcome priced = run_onebit(folder, joined({"price", "out/" + arm.name + "-1.h5", "--json"}, prices));
    CAPTURE(arm.name, every, priced.err);
    REQUIRE(priced.status == 0);
    const std::string here = behind(compared.out, "\"arm\": \"" + arm.name + "\""),
                      there = behind(analyzed.out, "\"name\": \"" + arm.name + "\"");
    const std::string stages = stages_in(priced.out);
    CHECK(stages_in(here) == stages);
    CHECK(stages_in(there) == stages);
    const std::string seconds = json_value(priced.out, "run_seconds");
    CHECK(json_value(behind(here, "\"estimated_seconds\""), "eth1") == seconds);
    CHECK(json_value(behind(there, "\"seconds\""), "mean") == seconds);
    const std::string shown_row = line_of(behind(shown.out, "time of the run"), arm.name + " ");
    const std::string cell = shown_row.substr(shown_row.find_last_not_of(' ', shown_row.rfind("  ")) + 1);
    CHECK_THAT(behind(page, "time of the run"),
               Contains(arm.name) && Contains(cell.substr(cell.find_first_not_of(' '))));
    if (every != "1") continue;
    const Outcome summary = summary_of(folder, arm);
    CAPTURE(summary.err);
    REQUIRE(summary.status == 0);
    CHECK(stages_in(behind(summary.out, "\"eth1\"")) == stages);
  }
}

}  // namespace

TEST_CASE("timeline: run, price, compare, analyze and report say the same of every optimizer's log", "[once]") {
  check_agreement("1");
}

TEST_CASE("timeline: run, price, compare, analyze and report say the same of logs of every fifth step", "[once]") {
  check_agreement("5");
}

TEST_CASE("timeline: dense and compressed stages are those that the optimizer reported", "[once]") {
  const Folder folder;
  const auto price = [&](const std::string& optimizer, const Arguments& more, const std::string& every) {
    const Outcome run = run_onebit(
        folder, tiny_run("run", joined(joined(common, more), {"--optimizer", optimizer, "-o", "run.h5", "--overwrite",
                                                              "--log.every", every, "--json"})));
    CAPTURE(run.err);
    REQUIRE(run.status == 0);
    const Outcome priced = run_onebit(folder, {"price", "run.h5", "--cluster", "eth1", "--json"});
    REQUIRE(priced.status == 0);
    return std::pair(run.out, priced.out);
  };
  for (const std::string every : {"1", "5"}) {
    CAPTURE(every);
    const auto [power, power_price] = price("ef-momentum-sgd", {"--codec", "power-sgd", "--codec.rank", "1"}, every);
    CHECK(json_value(power, "dense_step_bytes") == "null");
    CHECK(std::stod(json_value(power, "compressed_step_bytes")) > 0);
    CHECK(json_value(power_price, "stage") == "\"compression\"");
    CHECK(std::stod(json_value(power_price, "codec_seconds")) > 0);
    const auto [cada, cada_price] = price("cada1", {}, every);
    CHECK(json_value(cada, "compressed_step_bytes") == "null");
    CHECK(json_value(cada_price, "stage") == "\"dense\"");
    CHECK(json_value(cada_price, "codec_seconds") == "0");
    const auto [zeroone, zeroone_price] = price("zeroone-adam", {}, every);
    CHECK(json_value(zeroone_price, "stage") == "\"local\"");
    CHECK(std::stod(json_value(zeroone_price, "codec_seconds")) > 0);
    const auto [local, local_price] = price("local-adam", {}, every);
    CHECK(json_value(local, "compressed_step_bytes") == "null");
    CHECK(json_value(local_price, "codec_seconds") == "0");
    const auto [frozen, frozen_price] = price("onebit-adam-32", {}, every);
    CHECK(json_value(frozen, "compressed_step_bytes") == "null");
    CHECK_THAT(frozen_price, Contains("\"stage\": \"warmup\""));
  }
}

TEST_CASE("timeline: price and analyze agree on when a loss was reached") {
  const auto [every, is_bound] = GENERATE(std::pair("1", false), std::pair("3", true));
  const Folder folder;
  std::filesystem::create_directory(folder / "logs");
  const Outcome run =
      run_onebit(folder, tiny_run("run", joined(common, {"--optimizer", "onebit-adam", "-o", "logs/a-1.h5",
                                                         "--optimizer.lr", "0.05", "--eval.every", every})));
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  const std::vector<sim::EvaluationRow> rows = sim::LogReader(folder / "logs/a-1.h5").evaluations();
  REQUIRE(rows.size() > 2);
  const double target = (rows[0].loss + rows[1].loss) / 2;  // halfway between the first two
  REQUIRE(rows[1].loss < rows[0].loss);
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", target);
  const Arguments more = joined(prices, {"--target", text, "--json"});
  const Outcome priced = run_onebit(folder, joined({"price", "logs/a-1.h5"}, more));
  const Outcome analyzed = run_onebit(folder, joined({"analyze", "logs"}, more));
  CAPTURE(priced.out, priced.err, analyzed.out, analyzed.err);
  REQUIRE(priced.status == 0);
  const double seconds = std::stod(json_value(priced.out, "target_seconds"));
  const std::string reached = behind(analyzed.out, "\"to_target\"");
  CHECK(std::stod(json_value(behind(reached, "\"eth1\""), "mean")) == seconds);
  // Half a step to the middle between two evaluations; three dense steps are too far apart, and give a bound.
  const double steps = is_bound ? 3 : 0.5;
  CHECK(json_value(priced.out, "target_is_bound") == (is_bound ? "true" : "false"));
  CHECK(json_value(reached, "is_bound") == (is_bound ? "true" : "false"));
  CHECK(std::stod(json_value(behind(reached, "\"steps\""), "mean")) == Approx(steps));
  const double step = std::stod(json_value(behind(priced.out, "\"stages\""), "step_seconds"));
  CHECK(seconds == Approx(steps * step));
}
