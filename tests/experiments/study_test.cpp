// The study library without the program: what it trains, who observes it, and what happens to existing logs.

#include <cmath>

#include "analysis/compare/arm_figures.hpp"
#include "device/base/error.hpp"
#include "experiments/study/arm_runs.hpp"
#include "experiments/study/freeze_answer.hpp"
#include "experiments/study/resume.hpp"
#include "tests/catch.hpp"
#include "tests/folder.hpp"

using namespace onebit;
using namespace onebit::experiments;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

const Settings kTiny = {{"model", "mlp"},      {"model.layers", "4,5,3"}, {"data", "synthetic"}, {"data.features", "4"},
                        {"data.classes", "3"}, {"data.examples", "200"},  {"workers", "2"},      {"batch", "2"},
                        {"steps", "6"},        {"threads", "1"}};

Study tiny_study(const Folder& folder, const ArmTexts& arms, const Settings& more = {}) {
  Study study;
  study.run.settings = kTiny;
  study.run.settings.insert(study.run.settings.end(), more.begin(), more.end());
  study.arms = arms;
  study.folder = folder / "out";
  study.training.origin = {"1", "none", "a test"};
  return study;
}

ArmResults run(const Study& study) {
  const std::vector<Arm> arms = arms_of(study.run, study.arms);
  sim::DataCache data;
  return run_arms(study, arms, check_arms(study, arms, prices_of({}), data), data);
}

}  // namespace

TEST_CASE("study: arms are trained seed by seed, and their logs say where they are from") {
  const Folder folder;
  Study study = tiny_study(folder, {{"adam"}, {"slow:optimizer=adam,optimizer.lr=1e-5"}});
  study.seeds = 2;
  const ArmResults results = run(study);
  REQUIRE(results.arms.size() == 2);
  CHECK(results.complete);
  CHECK(results.arms[0].name == "adam");
  CHECK(results.arms[1].runs.size() == 2);
  CHECK(results.arms[1].runs[1].summary.seed == results.arms[1].runs[0].summary.seed + 1);
  const sim::LogReader log(results.arms[1].runs[1].summary.path);
  CHECK(log.header().command_line == "a test");
  CHECK(log.status() == sim::RunStatus::finished);
  CHECK(results.arms[1].options.at("optimizer.lr") != results.arms[0].options.at("optimizer.lr"));
  const Prices prices = prices_of({});
  const analysis::PricedArms priced =
      analysis::price_arms(results.arms, std::nan(""), prices.clusters, prices.rules, *prices.model);
  REQUIRE(priced.arms[1].times.size() == 2);
  REQUIRE(priced.arms[1].times[1].seconds.size() == prices.clusters.size());
  for (const double seconds : priced.arms[1].times[1].seconds) CHECK(seconds > 0);
}

TEST_CASE("study: watchers see every step of every run by its name, and may stop them") {
  const Folder folder;
  Study study = tiny_study(folder, {{"adam", "sgd"}, {}});
  std::vector<std::string> names;
  Index steps = 0, starts = 0;
  study.training.watcher.watch = [&](const std::string& name) {
    names.push_back(name);
    return [&](const sim::Progress&) { ++steps; };
  };
  study.training.watcher.on_start = [&] { ++starts; };
  study.training.watcher.stop_requested = [&] { return steps == 9; };
  const ArmResults results = run(study);
  CHECK_FALSE(results.complete);
  CHECK(starts == 1);
  CHECK(steps == 9);
  CHECK(names == std::vector<std::string>{"adam seed 1, run 1 of 2", "sgd seed 1, run 2 of 2"});
  CHECK(results.arms.back().runs.back().summary.status == sim::RunStatus::stopped);
}

TEST_CASE("study: existing logs are refused, replaced or kept") {
  const Folder folder;
  Study study = tiny_study(folder, {{"adam"}, {}});
  run(study);
  CHECK_THROWS_WITH(run(study), Contains("output exists") && Contains("--overwrite"));
  Index steps = 0;
  study.training.watcher.watch = [&](const std::string&) { return [&](const sim::Progress&) { ++steps; }; };
  study.training.output.resume = true;
  CHECK(run(study).arms.front().runs.front().summary.steps == 6);
  CHECK(steps == 0);  // the log is complete
  study.training.output = {.overwrite = true};
  run(study);
  CHECK(steps == 6);
}

TEST_CASE("study: a resumed log with other options is refused by their names, and a single run says how it goes on") {
  const Folder folder;
  Study study = tiny_study(folder, {{"adam"}, {}});
  run(study);
  const std::string log = study.folder + "/adam-1.h5";
  sim::RunConfig config = make_config(arms_of(study.run, study.arms).front().settings);
  config.optimizer.lr *= 2;
  OutputPolicy policy{.resume = true};
  CHECK_THROWS_WITH(resume_decision(policy, config, log),
                    Contains("optimizer.lr") && Contains("--resume.allow optimizer.lr") && !Contains("onebit run"));
  policy.given = Settings();
  CHECK_THROWS_WITH(resume_decision(policy, config, log), Contains("continue the run with `onebit run"));
  policy.overwrite = true;
  CHECK_THROWS_WITH(resume_decision(policy, config, log), Contains("both --resume and --overwrite"));
}

TEST_CASE("study: options without effect reach the watcher, once") {
  const Folder folder;
  Study study = tiny_study(folder, {{"adam"}, {}}, {{"freeze", "fixed:2"}});
  std::vector<std::string> warnings;
  study.training.watcher.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  run(study);
  CHECK(warnings == std::vector<std::string>{"--freeze has no effect with --optimizer adam"});
}

TEST_CASE("study: a freeze is refused before anything is trained") {
  const Folder folder;
  const auto refused = [&](const Settings& more, Index seeds) {
    Study study = tiny_study(folder, {}, more);
    study.seeds = seeds;
    try {
      answer_freeze(study, {}, prices_of({}));
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(refused({{"optimizer", "onebit-adam"}}, 2), Contains("too few seeds"));
  CHECK_THAT(refused({{"optimizer", "onebit-adam"}, {"freeze", "fixed:2"}}, 3),
             Contains("freeze sets the freeze step itself"));
  CHECK_THAT(refused({{"optimizer", "sgd"}}, 3), Contains("cannot be judged"));
  CHECK_FALSE(std::filesystem::exists(folder / "out"));
}
