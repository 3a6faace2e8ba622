// Analyses through the program: one log, many logs, logs that are of no use.

#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

Outcome analyze(const Folder& folder, const Arguments& arguments) {
  return run_onebit(folder, joined({"analyze"}, arguments));
}

void run_probed(const Folder& folder) {
  const Outcome run = run_onebit(
      folder, tiny_run("run", {"-o", "run.h5", "--optimizer", "onebit-adam", "--freeze", "fixed:10", "--steps", "60",
                               "--optimizer.beta2", "0.9", "--probe.every", "4", "--probe.curvature", "4"}));
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
}

void run_arms(const Folder& folder) {
  const Outcome run = run_onebit(folder, tiny_run("compare", {"-o", "arms", "--seeds", "3", "--optimizers",
                                                              "adam,onebit-adam", "--freeze", "fixed:3"}));
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
}

}  // namespace

TEST_CASE("analyze: a probed log has all parts, as tables and as JSON") {
  const Folder folder;
  run_probed(folder);
  const Outcome tables = analyze(folder, {"run.h5", "--lags", "2,5", "--thresholds", "0.2,0.9"});
  CAPTURE(tables.err);
  REQUIRE(tables.status == 0);
  CHECK(tables.err.empty());
  for (const char* part :
       {"stability of the variance", "l2, lag 5", "DeepSpeed freeze_step", "froze its variance after step 10",
        "tensor, last stable first", "since the freeze", "L by power iteration", "sigma of a worker",
        "bound of 1-bit Adam", "telescoping of errors", "error feedback: E||e||^2"}) {
    CHECK_THAT(tables.out, Contains(part));
  }
  const Outcome json = analyze(folder, {"run.h5", "--json"});
  REQUIRE(json.status == 0);
  for (const char* key : {"\"findings\":", "\"thresholds\":", "\"rate_drift\":", "\"smoothness\":", "\"bound\":"}) {
    CHECK_THAT(json.out, Contains(key));
  }
}

TEST_CASE("analyze: parts that a log has nothing on are named") {
  const Folder folder;
  REQUIRE(run_onebit(folder, tiny_run("run", {"-o", "run.h5", "--optimizer", "sgd"})).status == 0);
  const Outcome result = analyze(folder, {"run.h5"});
  CHECK(result.status == 0);
  CHECK_THAT(result.out, Contains("nothing wrong was found") && Contains("no variance to look at (run.h5)") &&
                             Contains("the log has no probes (run.h5); log a run with --probe.every"));
}

TEST_CASE("analyze: many logs are arms with verdicts, one way or another") {
  const Folder folder;
  run_arms(folder);
  const Outcome result = analyze(folder, {"arms", "--cluster", "eth10"});
  CAPTURE(result.err);
  REQUIRE(result.status == 0);
  CHECK_THAT(result.out, Contains("onebit-adam") && Contains("3/3") && Contains("vs fp16:") && Contains("eth10") &&
                             Contains("3 paired seeds"));
  const Outcome turned = analyze(folder, {"arms", "--baseline", "onebit-adam", "--target", "1000", "--json"});
  REQUIRE(turned.status == 0);
  CHECK_THAT(turned.out, Contains("\"baseline\": \"onebit-adam\"") && Contains("\"target_loss\": 1000") &&
                             Contains("\"judgement\":") && Contains("\"left_out\": []"));
}

TEST_CASE("analyze: a damaged log is left out, and it is said") {
  const Folder folder;
  run_arms(folder);
  write_file(folder / "arms/adam-2.h5", "no log");
  const Outcome result = analyze(folder, {"arms"});
  REQUIRE(result.status == 0);
  CHECK_THAT(result.out,
             Contains("left out") && Contains("adam-2.h5") && Contains("2/2") && Contains("2 paired seeds"));
}

TEST_CASE("analyze: what cannot be is refused in a line") {
  const Folder folder;
  run_arms(folder);
  const auto refused = [&](const Arguments& arguments, const std::string& why) {
    const Outcome result = analyze(folder, arguments);
    CAPTURE(result.err);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, Contains(why));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  };
  refused({}, "no log named");
  refused({"none.h5"}, "none.h5");
  refused({"arms", "--baseline", "adem"}, "adam");
  refused({"arms", "--lags", "3"}, "options of a single log");
  refused({"arms/adam-1.h5", "--baseline", "adam"}, "options of a comparison");
  refused({"arms/adam-1.h5", "--thresholds", "1.5"}, "thresholds 1.5");
  refused({"arms/adam-1.h5", "--lags", "0"}, "lags 0");
  refused({"arms", "--sweep.bandwidth", "1e8:1e9:3"}, "option of another command");
  const Outcome other = run_onebit(folder, tiny_run("run", {"-o", "other.h5", "--data.examples", "333"}));
  REQUIRE(other.status == 0);
  refused({"arms", "other.h5"}, "cannot be compared");
}
