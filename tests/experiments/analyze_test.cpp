// Analyses through the program: one log, many logs, unusable logs.

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

/// Arms of 1-bit Adam on the quadratic, probed.
void run_quadratics(const Folder& folder, const Arguments& more) {
  const Outcome run = run_onebit(
      folder, joined({"compare", "--model", "quadratic", "--data", "none", "--batch", "1", "--optimizer", "onebit-adam",
                      "--freeze", "fixed:1", "--probe.every", "2", "--threads", "1", "-o", "arms"},
                     more));
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
        "tensor, latest to stabilise first", "since the freeze", "L by power iteration", "sigma of a worker",
        "bound of 1-bit Adam", "telescoping of errors", "come from secondary sources"}) {
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
  CHECK_THAT(result.out, Contains("nothing wrong was found") && Contains("no variance to analyze (run.h5)") &&
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

TEST_CASE("analyze: where compressed steps explode, the advice names a lower rate at which all runs finished") {
  const Folder folder;
  const auto swept = [&](const std::string& rates) {
    return run_onebit(folder, tiny_run("sweep", {"--steps", "60", "--optimizer", "onebit-adam", "--freeze", "fixed:5",
                                                 "--axis", "optimizer.lr=" + rates, "-o", rates}));
  };
  REQUIRE(swept("0.001,3,4").status == 0);
  REQUIRE(swept("3,4").status == 0);
  const std::string exploded = "divided by small frozen denominators";
  const std::string out = analyze(folder, {"0.001,3,4"}).out;
  CHECK_THAT(out, Contains(exploded) &&
                      Contains("; lower optimizer.lr (at 0.001, every run ended below its starting "
                               "loss); if you keep this rate, the freeze may do no harm without compression"));
  CHECK_THAT(out, !Contains("(at 3, every run"));
  CHECK_THAT(analyze(folder, {"3,4"}).out, Contains(exploded) && !Contains("every run ended below"));
}

TEST_CASE("analyze: what seeds do not tell is not resolved, what is equivalent is so within a margin", "[once]") {
  const Folder folder;
  run_arms(folder);
  const Outcome strict = analyze(folder, {"arms", "--margin", "1e-9"});
  CAPTURE(strict.out, strict.err);
  REQUIRE(strict.status == 0);
  CHECK_THAT(
      strict.out,
      Contains("1 comparison, judged by its 95% interval; the numbers of seeds are rough estimates, for a power of") &&
          Contains("onebit-adam and adam cannot be told apart (detecting ") && Contains(" takes ") &&
          !Contains("no difference"));
  const Outcome loose = analyze(folder, {"arms", "--margin", "0.99"});
  CHECK_THAT(loose.out, Contains("equivalent within 99%: final loss") && !Contains("told apart"));
  const Outcome json = analyze(folder, {"arms", "--margin", "9.5367431640625e-07", "--json"});
  CHECK_THAT(json.out, Contains("\"judgement\": \"not_resolved\"") && Contains("\"seeds_needed\": ") &&
                           !Contains("\"seeds_needed\": null") && Contains("\"comparisons\": 1") &&
                           Contains("\"margin\": 9.5367431640625e-07"));
  for (const char* margin : {"0", "-0.1", "1", "nan", "1%"}) {
    const Outcome refused = analyze(folder, {"arms", "--margin", margin});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, Contains("margin"));
  }
  CHECK(analyze(folder, {"arms/adam-1.h5", "--margin", "0.1"}).status == 2);
}

TEST_CASE("analyze: an arm is compared with its own parent at the parent's best rate", "[once]") {
  const Folder folder;
  const Outcome run =
      run_onebit(folder, tiny_run("compare", {"-o", "arms", "--seeds", "2", "--freeze", "fixed:3", "--arm",
                                              "adam-low:optimizer=adam,optimizer.lr=1e-6", "--arm",
                                              "adam-high:optimizer=adam,optimizer.lr=1e-2", "--arm",
                                              "onebit:optimizer=onebit-adam,optimizer.lr=1e-2", "--arm",
                                              "lamb:optimizer=onebit-lamb,optimizer.lr=1e-2"}));
  CAPTURE(run.out, run.err);
  REQUIRE(run.status == 0);
  const Outcome result = analyze(folder, {"arms"});
  CAPTURE(result.out, result.err);
  REQUIRE(result.status == 0);
  for (const Outcome* shown : {&run, &result}) {  // compare prints the same about its logs as analyze
    CHECK_THAT(shown->out, Contains("at the best learning rates: 2 comparisons, each judged by its 97.5% interval") &&
                               Contains("at other learning rates: 1 comparison") &&
                               Contains("learning rate 0.01 (the only one tried) against 0.01 (of 2 tried)") &&
                               Contains("note: lamb (onebit-lamb) is compared with adam-high, because its parent lamb "
                                        "is not among the arms"));
    CHECK_FALSE(line_of(shown->out, "with each arm at its best learning rate, ").empty());
  }
  CHECK_THAT(analyze(folder, {"arms", "--baseline", "adam-low"}).out,
             Contains("note: the baseline adam-low is not at the best of its learning rates: adam-high is"));
}

TEST_CASE("analyze: a damaged log is left out, and named") {
  const Folder folder;
  run_arms(folder);
  write_file(folder / "arms/adam-2.h5", "no log");
  const Outcome result = analyze(folder, {"arms"});
  REQUIRE(result.status == 0);
  CHECK_THAT(result.out,
             Contains("left out") && Contains("adam-2.h5") && Contains("2/2") && Contains("2 paired seeds"));
}

TEST_CASE("analyze: impossible requests are refused in one line", "[once]") {
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
  refused({"arms", "--lags", "3"}, "these options apply only to a single log");
  refused({"arms/adam-1.h5", "--baseline", "adam"}, "options of a comparison");
  refused({"arms/adam-1.h5", "--thresholds", "1.5"}, "thresholds 1.5");
  refused({"arms/adam-1.h5", "--lags", "0"}, "lags 0");
  refused({"arms", "-o", "out"}, "nothing to write");
  refused({"arms", "--workers", "3"}, "options of a run need --validate");
  refused({"arms", "--sweep.bandwidth", "1e8:1e9:3"}, "option of another command");
  const Outcome other = run_onebit(folder, tiny_run("run", {"-o", "other.h5", "--data.examples", "333"}));
  REQUIRE(other.status == 0);
  refused({"arms", "other.h5"}, "cannot be compared");
}

TEST_CASE("analyze: --validate runs a dense run a seed, and from it what each candidate chooses, in three arms",
          "[once]") {
  const Folder folder;
  const Arguments run = tiny_run(
      "analyze", {"--validate", "--optimizer", "onebit-adam", "--steps", "60", "--freeze.lag", "5", "--optimizer.beta2",
                  "0.9", "--thresholds", "0.2,0.5,1", "--arm", "wide:optimizer.eps=1e-3", "--seeds", "3", "-o", "out"});
  const Outcome result = run_onebit(folder, run);
  CAPTURE(result.err, result.out);
  REQUIRE(result.status == 0);
  CHECK_THAT(result.out, Contains("freeze cost") && Contains("compression cost") && Contains("wide") &&
                             Contains("means over seeds 1, 2, 3") && Contains("0/3") &&
                             Contains("verdicts hold jointly") && Contains("exceeds 0 (no minimum is known)"));
  Index branches = 0;
  for (const std::string& path : entries(folder)) {
    CHECK(path.find("prefix") == std::string::npos);
    if (!path.ends_with(".h5") || path.find("dense-") != std::string::npos) continue;
    ++branches;
    const sim::LogReader log(path);
    CHECK(log.status() == sim::RunStatus::finished);
    CHECK(log.steps().size() == 60);
  }
  CHECK(branches >= 9);
  CHECK(branches % 3 == 0);
  const Outcome again = run_onebit(folder, run);
  CHECK(again.status == 2);
  CHECK_THAT(again.err, Contains("output exists (out/"));
  const Outcome resumed = run_onebit(folder, joined(run, {"--resume"}));
  CAPTURE(resumed.err);
  REQUIRE(resumed.status == 0);
  CHECK(resumed.out == result.out);
  const Outcome json = run_onebit(folder, joined(run, {"--overwrite", "--json"}));
  REQUIRE(json.status == 0);
  CHECK_THAT(json.out, Contains("\"judging_seeds\": [2, 3]") && Contains("\"together\":") && Contains("\"verdict\":") &&
                           Contains("\"complete\": true"));
}

TEST_CASE("analyze: --validate takes steps, and 1-bit LAMB, and a continuation has the bits of a whole run", "[once]") {
  const Folder folder;
  const Arguments run = {"--optimizer", "onebit-lamb", "--steps", "30"};
  const Outcome result = run_onebit(
      folder, joined(tiny_run("analyze", {"--validate", "--freeze-at", "20,10", "--seeds", "3", "-o", "out"}), run));
  CAPTURE(result.err, result.out);
  REQUIRE(result.status == 0);
  CHECK_THAT(result.out, Contains("step 10") && Contains("step 20"));
  for (const auto& [optimizer, arm] :
       std::vector<std::pair<std::string, std::string>>{{"onebit-lamb", "compressed"}, {"onebit-lamb-32", "frozen"}}) {
    const Outcome whole = run_onebit(folder, joined(tiny_run("run", {"--freeze", "fixed:10", "-o", arm + ".h5"}),
                                                    {"--optimizer", optimizer, "--steps", "30"}));
    REQUIRE(whole.status == 0);
    const std::string name = "out/" + arm + "-10-1.h5";
    CHECK(sim::LogReader(folder / name).column("steps/loss") ==
          sim::LogReader(folder / (arm + ".h5")).column("steps/loss"));
  }
}

TEST_CASE("analyze: --validate judges the variance schedule of 0/1 Adam against Adam, each arm a run of its own",
          "[once]") {
  const Folder folder;
  const Arguments run = {"--optimizer", "zeroone-adam", "--optimizer.var-update-scaler", "4", "--steps", "30"};
  const Outcome result = run_onebit(
      folder, joined(tiny_run("analyze", {"--validate", "--freeze-at", "10,20", "--seeds", "3", "-o", "out"}), run));
  CAPTURE(result.err, result.out);
  REQUIRE(result.status == 0);
  CHECK_THAT(result.out, Contains("step 10") && Contains("step 20"));
  for (const auto& [optimizer, log] : std::vector<std::pair<std::string, std::string>>{
           {"zeroone-adam", "compressed-10-1"}, {"zeroone-adam-32", "frozen-10-1"}, {"adam", "dense-1"}}) {
    const Outcome whole = run_onebit(
        folder, joined(tiny_run("run", {"--optimizer", optimizer, "--steps", "30", "-o", log + ".h5"}),
                       optimizer == "adam"
                           ? Arguments{}
                           : Arguments{"--optimizer.var-update-scaler", "4", "--optimizer.var-freeze-step", "10"}));
    REQUIRE(whole.status == 0);
    CHECK(sim::LogReader(folder / ("out/" + log + ".h5")).column("steps/loss") ==
          sim::LogReader(folder / (log + ".h5")).column("steps/loss"));
  }
  const Outcome late = run_onebit(
      folder, joined(tiny_run("analyze", {"--validate", "--freeze-at", "30", "--seeds", "3", "-o", "late"}), run));
  CHECK(late.status != 0);
  CHECK_THAT(late.err, Contains("never be frozen"));
}

TEST_CASE("analyze: --validate refuses what it cannot vary") {
  const Folder folder;
  const auto refused = [&](const Arguments& more, const std::string& why) {
    const Outcome result = run_onebit(folder, joined(tiny_run("analyze", {"--validate", "--seeds", "3"}), more));
    CAPTURE(result.err);
    CHECK(result.status == 2);
    CHECK_THAT(result.err, Contains(why));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK(entries(folder).empty());
  };
  refused({"-o", "out"}, "adam");
  const std::string own = "onebit-adam";
  refused({"--optimizer", own}, "no output folder");
  refused({"--optimizer", own, "-o", "out", "--freeze", "fixed:3"}, "analyze --validate sets the freeze step itself");
  refused({"--optimizer", own, "-o", "out", "--freeze.threshold", "0.5"},
          "analyze --validate sets the freeze step itself");
  refused({"--optimizer", own, "-o", "out", "--thresholds", "0.5,0.5"}, "twice");
  refused({"--optimizer", own, "-o", "out", "--seeds", "2"}, "too few seeds");
  refused({"--optimizer", own, "-o", "out", "--freeze-at", "5,5"}, "twice");
  refused({"--optimizer", own, "-o", "out", "--freeze-at", "0"}, "at least 1");
  refused({"--optimizer", own, "-o", "out", "--freeze-at", "5", "--thresholds", "0.5"},
          "both thresholds and steps are given");
  refused({"--optimizer", own, "-o", "out", "--measure", "height"}, "loss, accuracy or steps");
  refused({"--optimizer", own, "-o", "out", "--measure", "steps"}, "no loss to reach");
  refused({"--optimizer", own, "-o", "out", "--target", "1"}, "does not use");
  refused({"--optimizer", own, "-o", "out", "--freeze-at", "5", "--arm", "x:workers=2"}, "act after the freeze");
  refused({"--optimizer", "onebit-adam-32", "-o", "out"}, "cannot be judged");
  refused({"--optimizer", own, "-o", "out"}, "never");
  refused({"--optimizer", own, "-o", "out", "--log.every", "2"}, "log.every");
  refused({"--optimizer", own, "-o", "out", "--lags", "3"}, "other analyses");
  refused({"--optimizer", own, "-o", "out", "--margin", "0"}, "margin 0");
  refused({"--optimizer", own, "-o", "out", "--seeds", "0"}, "seeds 0");
  refused({"--optimizer", own, "-o", "out", "log.h5"}, "log.h5");
  const Outcome without = run_onebit(folder, tiny_run("analyze", {}));
  CHECK(without.status == 2);
  CHECK_THAT(without.err, Contains("--validate"));
}

TEST_CASE("analyze: --fit tells an exponent, and draws it where it is asked to", "[once]") {
  const Folder folder;
  const Arguments fit = {"arms", "--fit", "workers"};
  run_quadratics(folder, {"--model.dimension", "8", "--steps", "20", "--arm", "n1:workers=1", "--arm", "n2:workers=2",
                          "--arm", "n4:workers=4"});
  const Outcome alone = analyze(folder, fit);
  CHECK(alone.status == 0);
  CHECK_THAT(alone.out, Contains("is proportional to workers to the power of") && !Contains("picture"));
  const Outcome drawn = analyze(folder, joined(fit, {"-o", "rate"}));
  CAPTURE(drawn.err, drawn.out);
  REQUIRE(drawn.status == 0);
  CHECK(analyze(folder, {"arms", "--fit", "seeds"}).status == 2);
  const Outcome dense = analyze(folder, {"arms/n1-1.h5", "--fit", "errors"});
  CHECK(dense.status == 2);
  if (std::filesystem::exists(folder / "rate.svg")) {
    CHECK_THAT(read_file(folder / "rate.svg"), Contains("Rates of convergence") && Contains("-1/2"));
    CHECK(analyze(folder, joined(fit, {"-o", "rate"})).status == 2);
    CHECK(analyze(folder, joined(fit, {"-o", "rate", "--overwrite"})).status == 0);
  } else {
    CHECK_THAT(drawn.out, Contains("no pictures"));
  }
}

TEST_CASE("analyze: --fit pools learning rates nowhere, but where each setting has one of its own, and says so",
          "[once]") {
  const Folder folder;
  run_quadratics(folder, {"--model.dimension", "8", "--steps", "20", "--seeds", "2", "--arm",
                          "a:workers=1,optimizer.lr=1e-3", "--arm", "b:workers=4,optimizer.lr=1e-3", "--arm",
                          "c:workers=1,optimizer.lr=1e-2", "--arm", "d:workers=4,optimizer.lr=1e-2"});
  const Outcome crossed = analyze(folder, {"arms", "--fit", "workers"});
  CAPTURE(crossed.out, crossed.err);
  REQUIRE(crossed.status == 0);
  CHECK_THAT(crossed.out, Contains("onebit-adam, lr 0.001: ||grad f||^2 is proportional to workers") &&
                              Contains("onebit-adam, lr 0.01: ||grad f||^2 is proportional to workers") &&
                              Contains("(95%, 4 runs that differ in workers; learning rate 0.001)") &&
                              Contains("(95%, 4 runs that differ in workers; learning rate 0.01)"));
  const Outcome coupled =
      analyze(folder, {"arms/a-1.h5", "arms/a-2.h5", "arms/d-1.h5", "arms/d-2.h5", "--fit", "workers"});
  CHECK_THAT(coupled.out, Contains("(95%, 4 runs that differ in optimizer.lr, workers; different learning rates: "
                                   "0.001, 0.01)"));
  const Outcome lonely = analyze(folder, {"arms/a-1.h5", "arms/b-1.h5", "arms/c-1.h5", "--fit", "workers"});
  CHECK(lonely.status == 2);
  CHECK_THAT(lonely.err, Contains("onebit-adam, lr 0.01") && Contains("differ in the variable of the fit"));
  const Outcome json = analyze(folder, {"arms", "--fit", "workers", "--json"});
  CHECK_THAT(json.out, Contains("\"name\": \"onebit-adam, lr 0.001\"") && Contains("\"learning_rate\": 0.001") &&
                           Contains("\"differing\": [\"workers\"]"));
}

TEST_CASE("analyze: --fit errors goes over runs whose errors were made differently", "[once]") {
  const Folder folder;
  run_quadratics(folder,
                 {"--model.dimension", "16", "--model.noise", "0", "--workers", "4", "--steps", "60", "--optimizer.eps",
                  "200", "--arm", "h20:model.heterogeneity=20,optimizer.lr=20", "--arm",
                  "h80:model.heterogeneity=80,optimizer.lr=8", "--arm", "h320:model.heterogeneity=320,optimizer.lr=3"});
  const Outcome fit = analyze(folder, {"arms", "--fit", "errors"});
  CAPTURE(fit.out, fit.err);
  REQUIRE(fit.status == 0);
  CHECK_THAT(fit.out, Contains("onebit-adam: ||grad f||^2 is proportional to errors") &&
                          Contains("3 runs that differ in model.heterogeneity, optimizer.lr") &&
                          Contains("different learning rates: "));
}
