// Good and bad logs on disk, and the arms that they form.

#include "analysis/compare/arms.hpp"

#include "analysis/compare/rate_grid.hpp"
#include "device/base/error.hpp"
#include "sim/log/table_file.hpp"
#include "tests/analysis/runs.hpp"

using namespace onebit;
using namespace onebit::analysis;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using sim::RunStatus;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

struct Written {
  OptionValues options = {{"optimizer", "adam"}};
  std::uint32_t seed = 1;
  Index steps = 4;
  std::vector<double> losses = {3, 2};  ///< evaluations at steps 0, 1, ...
  RunStatus status = RunStatus::finished;
};

std::string write_log(const std::string& path, const Written& what) {
  sim::LogWriter log(path, run_header(what.options, what.seed), false);
  for (Index step = 1; step <= what.steps; ++step) {
    log.append(sample_step(step));
    log.append(step, dense_exchange());
  }
  for (std::size_t i = 0; i < what.losses.size(); ++i) {
    log.append(sim::EvaluationRow{static_cast<Index>(i), 0, what.losses[i], 0.5, 0});
  }
  if (what.status == RunStatus::diverged) log.append(sim::Event{what.steps, "divergence", "the loss is not finite"});
  log.close(what.status);
  return path;
}

/// Writes a log that claims to have the next version of the format.
std::string write_newer(const std::string& path) {
  sim::write_table(path, sim::log_format, 2, {{"x", "1", "", std::vector<double>{1}}});
  return path;
}

LogSet read(const std::vector<std::string>& paths) {
  return read_logs(paths);
}

std::vector<Arm> arms_in(const std::string& folder) {
  return arms_of(read({folder}).runs);
}

std::vector<std::string> names_of(const std::vector<Arm>& arms) {
  std::vector<std::string> names;
  for (const Arm& arm : arms) names.push_back(arm.name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("arms: a run is read whole") {
  const Folder folder;
  const Run run = read_run(write_log(folder / "a.h5", {}));
  CHECK(run.summary.path == folder / "a.h5");
  CHECK(run.summary.final_loss == 2);
  CHECK(run.summary.communication.empty());
  CHECK(run.header == run_header({{"optimizer", "adam"}}, 1));
  CHECK(run.evaluations.size() == 2);
  CHECK(run.rows == 4);
  REQUIRE(run.exchanges.size() == 1);
  CHECK(run.exchanges[0].steps() == 4);
}

TEST_CASE("arms: bad logs are a clear line each, and the others are read") {
  const Folder folder;
  for (std::uint32_t seed = 1; seed <= 9; ++seed) {
    write_log(folder / ("adam-" + std::to_string(seed) + ".h5"), {.seed = seed});
  }
  const std::string damaged = folder / "adam-10.h5";
  write_log(damaged, {.seed = 10});
  write_file(damaged, read_file(damaged).substr(0, 5000));
  const LogSet set = read({folder.path()});
  CHECK(set.runs.size() == 9);
  REQUIRE(set.left_out.size() == 1);
  CHECK_THAT(set.left_out[0], Contains("cannot read log: truncated") && Contains(damaged));
  CHECK(arms_of(set.runs).size() == 1);
}

TEST_CASE("arms: what makes a log unusable is said in one line with its file") {
  const Folder folder;
  const std::string good = write_log(folder / "good.h5", {});
  const std::string empty = folder.write("empty.h5", ""), text = folder.write("text.h5", std::string(5000, 'x'));
  const std::vector<std::pair<std::string, std::string>> bad = {
      {folder / "absent.h5", "no such file"},
      {empty, "the file is empty"},
      {text, "not an HDF5 file"},
      {write_newer(folder / "newer.h5"), "log has format_version 2, this program reads format_version 1"},
      {write_log(folder / "nothing.h5", {.seed = 2, .steps = 0, .losses = {}}), "the log has no rows yet"},
      {write_log(folder / "one.h5", {.seed = 3, .steps = 1}), "the log has only one step"},
      {write_log(folder / "nan.h5", {.seed = 4, .losses = {nan_value, nan_value}}), "no evaluation with a finite loss"},
      {write_log(folder / "unevaluated.h5", {.seed = 5, .losses = {}}), "no evaluation with a finite loss"},
      {write_log(folder / "stopped.h5", {.seed = 6, .steps = 1, .status = RunStatus::stopped}), "only one step"}};
  std::vector<std::string> paths = {good};
  for (const auto& entry : bad) paths.push_back(entry.first);
  const LogSet set = read(paths);
  CHECK(set.runs.size() == 1);
  REQUIRE(set.left_out.size() == bad.size());
  for (std::size_t i = 0; i < bad.size(); ++i) {
    CHECK_THAT(set.left_out[i], Contains(bad[i].second) && Contains(bad[i].first) && !Contains("\n"));
  }
}

TEST_CASE("arms: a run that diverged or failed counts, however short its log is") {
  const Folder folder;
  write_log(folder / "a-1.h5", {.steps = 1, .losses = {}, .status = RunStatus::diverged});
  write_log(folder / "a-2.h5", {.seed = 2, .steps = 0, .losses = {}, .status = RunStatus::failed});
  write_log(folder / "a-3.h5", {.seed = 3, .losses = {3, nan_value}});
  write_log(folder / "a-4.h5", {.seed = 4, .status = RunStatus::stopped});
  const LogSet set = read({folder.path()});
  CHECK(set.left_out.empty());
  REQUIRE(set.runs.size() == 4);
  CHECK(outcome_of(set.runs[0]) == Outcome::diverged);
  CHECK(reason_of(set.runs[0]) == "diverged: the loss is not finite");
  CHECK(outcome_of(set.runs[1]) == Outcome::failed);
  CHECK(outcome_of(set.runs[2]) == Outcome::diverged);
  CHECK(reason_of(set.runs[2]) == "diverged: the loss of its last evaluation is not finite");
  CHECK(outcome_of(set.runs[3]) == Outcome::unfinished);
  CHECK(reason_of(set.runs[3]) == "stopped");
}

TEST_CASE("arms: exchanges that cannot be are found before they are priced") {
  const Folder folder;
  const std::string path = folder / "a.h5";
  {
    sim::LogWriter log(path, run_header({}, 1), false);
    netmodel::TrafficList exchanges = dense_exchange();
    exchanges[0].group_size = 5;
    log.append(1, exchanges);
    log.close(RunStatus::finished);
  }
  CHECK_THROWS_WITH(read_run(path), "cannot read log: an exchange of 5 workers in a run of 4 (" + path + ": /traffic)");
}

TEST_CASE("arms: no log left is an error that names one") {
  const Folder folder;
  const std::string empty = folder.write("logs/empty.h5", "");
  folder.write("none/readme.txt", "");
  CHECK_THROWS_AS(read({empty}), ConfigError);
  CHECK_THROWS_WITH(read({empty, folder / "absent.h5"}), Contains("none of 2 logs can be used; ") && Contains(empty));
  CHECK_THROWS_WITH(read({folder / "none"}), Contains("no run logs in this folder") && Contains("none"));
  CHECK_THROWS_WITH(read({}), Contains("no logs to read"));
}

TEST_CASE("arms: a folder is its logs, without a sweep's index, files of other kinds and what lies below") {
  const Folder folder;
  folder.write("below/x.h5", "");
  folder.write("adam-1.h5.checkpoint-5", "");
  folder.write("index.csv", "");
  sim::write_table(folder / "index.h5", "onebit-sweep-index", 1, {{"x", "1", "", std::vector<double>{1}}});
  write_log(folder / "b-1.h5", {.options = {{"optimizer", "lamb"}}});
  write_log(folder / "a-1.h5", {});
  const LogSet set = read({folder.path()});
  CHECK(set.left_out.empty());
  REQUIRE(set.runs.size() == 2);
  CHECK(set.runs[0].summary.path == folder / "a-1.h5");
  CHECK(read({folder / "b-1.h5", folder.path(), folder / "below/../a-1.h5"}).runs.size() == 2);
  CHECK(read({folder / "b-1.h5", folder.path()}).runs[0].summary.path == folder / "b-1.h5");
  CHECK_THROWS_WITH(read({folder / "index.h5"}), Contains("not a run log"));
}

TEST_CASE("arms: of two runs of one configuration and seed one is left out, the unfinished one") {
  const Folder folder;
  const std::string stopped = write_log(folder / "a.h5", {.status = RunStatus::stopped});
  const std::string finished = write_log(folder / "b.h5", {});
  const std::string again = write_log(folder / "c.h5", {});
  const LogSet set = read({stopped, finished, again});
  REQUIRE(set.runs.size() == 1);
  CHECK(set.runs[0].summary.path == finished);
  CHECK(set.left_out ==
        Names{"another run has the same configuration and seed (" + stopped + "); " + finished + " is used instead",
              "another run has the same configuration and seed (" + again + "); " + finished + " is used instead"});
  CHECK_THROWS_WITH(arms_of({read_run(finished), read_run(again)}),
                    Contains("two runs have the same options and seed"));
}

TEST_CASE("arms: runs are one arm whose options differ in nothing that decides a result") {
  const Folder folder;
  const OptionValues one = {{"optimizer", "adam"},     {"seed", "1"},
                            {"devices", "cpu:2"},      {"threads", "1"},
                            {"worker-group", "0"},     {"memory", "0"},
                            {"log.every", "1"},        {"log.flush", "2"},
                            {"data.path", "/a"},       {"data.read", "/a"},
                            {"data.test", "/t"},       {"data.mmap", "auto"},
                            {"checkpoint.every", "5"}, {"log.tensors-every", "1"}};
  const OptionValues two = {{"optimizer", "adam"},     {"seed", "2"},
                            {"devices", "debug"},      {"threads", "2"},
                            {"worker-group", "4"},     {"memory", "9"},
                            {"log.every", "2"},        {"log.flush", "1"},
                            {"data.path", "/b"},       {"data.read", "/b"},
                            {"data.test", "/u"},       {"data.mmap", "true"},
                            {"checkpoint.every", "6"}, {"log.tensors-every", "2"}};
  write_log(folder / "x.h5", {.options = two, .seed = 2});
  write_log(folder / "y.h5", {.options = one, .seed = 1});
  const std::vector<Arm> arms = arms_in(folder.path());
  REQUIRE(arms.size() == 1);
  CHECK(arms[0].name == "adam");
  CHECK(arms[0].options == OptionValues{{"devices", "cpu"}, {"optimizer", "adam"}});
  REQUIRE(arms[0].runs.size() == 2);
  CHECK(arms[0].runs[0].summary.seed == 1);
}

TEST_CASE("arms: another backend is another arm, for it rounds differently") {
  const Folder folder;
  write_log(folder / "x.h5", {.options = {{"optimizer", "adam"}, {"devices", "cpu:2"}}});
  write_log(folder / "y.h5", {.options = {{"optimizer", "adam"}, {"devices", "cuda:0,1"}}});
  CHECK(names_of(arms_in(folder.path())) == Names{"devices cpu", "devices cuda"});
}

TEST_CASE("arms: named as compare named them, in order of appearance") {
  const Folder folder;
  const OptionValues slow = {{"optimizer", "adam"}, {"optimizer.lr", "1e-3"}};
  for (std::uint32_t seed : {1U, 2U, 12U}) {
    write_log(folder / ("fast-arm-" + std::to_string(seed) + ".h5"), {.seed = seed});
    write_log(folder / ("slow-" + std::to_string(seed) + ".h5"), {.options = slow, .seed = seed});
  }
  const std::vector<Arm> arms = arms_of(read({folder / "slow-1.h5", folder.path()}).runs);
  CHECK(names_of(arms) == Names{"slow", "fast-arm"});
  CHECK(arms[1].runs.back().summary.seed == 12);
  const Folder labelled;  // labels are chosen, names of files may be accidents
  write_log(labelled / "x-1.h5", {.options = {{"optimizer", "adam"}, {"label", "mine"}}});
  write_log(labelled / "y-1.h5", {.options = {{"optimizer", "sgd"}, {"label", "yours"}}});
  CHECK(names_of(arms_in(labelled.path())) == Names{"mine", "yours"});
}

TEST_CASE("arms: named by their labels where every arm has one") {
  const Folder folder;
  const auto options = [](const std::string& label, const std::string& rate, const std::string& batch) {
    return OptionValues{{"label", label}, {"optimizer", "adam"}, {"optimizer.lr", rate}, {"batch", batch}};
  };
  write_log(folder / "0a.h5", {.options = options("small", "0.1", "8")});
  write_log(folder / "1b.h5", {.options = options("small", "0.2", "8")});
  write_log(folder / "2c.h5", {.options = options("large", "0.1", "16")});
  write_log(folder / "3d.h5", {.options = options("large", "0.1", "16"), .seed = 2});
  const std::vector<Arm> arms = arms_in(folder.path());
  CHECK(names_of(arms) == Names{"large, lr 0.1", "small, lr 0.1", "small, lr 0.2"});
  CHECK(arms[0].runs.size() == 2);
  CHECK(rate_grids(arms)[1].name == "small");
  write_log(folder / "4e.h5", {.options = options("other", "0.1", "8"), .seed = 2});  // one arm, two labels
  CHECK(names_of(arms_in(folder.path())) == Names{"lr 0.1, batch 8", "lr 0.1, batch 16", "lr 0.2, batch 8"});
}

TEST_CASE("arms: named by their options where files are not named after arms, and sorted by them") {
  const OptionValues fast = {{"optimizer", "onebit-adam"}, {"optimizer.lr", "0.01"}};
  const OptionValues slow = {{"optimizer", "onebit-adam"}, {"optimizer.lr", "0.001"}};
  const OptionValues adam = {{"optimizer", "adam"}, {"optimizer.lr", "0.001"}};
  const Names expected = {"adam, lr 0.001", "onebit-adam, lr 0.001", "onebit-adam, lr 0.01"};
  {
    const Folder folder;
    write_log(folder / "0a.h5", {.options = fast});
    write_log(folder / "1b.h5", {.options = adam});
    write_log(folder / "2c.h5", {.options = slow});
    CHECK(names_of(arms_in(folder.path())) == expected);
  }
  const Folder folder;  // two arms share a name, and one arm has two names
  folder.write("other/x", "");
  write_log(folder / "a-1.h5", {.options = fast});
  write_log(folder / "other/a-1.h5", {.options = adam});
  write_log(folder / "b-1.h5", {.options = slow});
  write_log(folder / "c-2.h5", {.options = slow, .seed = 2});
  CHECK(names_of(arms_of(read({folder.path(), folder / "other"}).runs)) == expected);
}
