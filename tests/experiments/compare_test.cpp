// Comparisons through the program: table, logs, CSV, pictures.

#include "sim/log/reader.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::Matches;
using Catch::Matchers::StartsWith;

namespace {

const bool gnuplot = std::system("command -v gnuplot >/dev/null 2>&1") == 0;

Arguments two_arms(const Arguments& more = {}) {
  return tiny_run("compare", joined({"-o", "out", "--seeds", "2", "--arm", "small:optimizer=adam,model.layers=4,6,3",
                                     "--arm", "big:optimizer=onebit-adam,model.layers=4,8,7,3,freeze=fixed:2"},
                                    more));
}

Index lines(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

}  // namespace

TEST_CASE("compare: two arms and two seeds make a table, logs and a CSV file") {
  const Folder folder;
  const Outcome run = run_onebit(folder, two_arms());
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  CHECK(run.err.empty());
  for (const std::string arm : {"small", "big"}) {
    CHECK_THAT(run.out, Contains("\n" + arm));
    for (const std::string seed : {"1", "2"}) {
      const sim::LogReader log(folder / ("out/" + arm + "-" + seed + ".h5"));
      CHECK(log.status() == sim::RunStatus::finished);
      CHECK(log.committed_rows() == 6);
      CHECK(log.header().tensors.size() == (arm == "small" ? 4 : 6));
    }
  }
  CHECK_THAT(run.out,
             Contains("2/2") && Contains("vs fp16: bytes of a ring all-reduce") && Contains("compression stage"));
  CHECK_THAT(run.out, Contains("eth1") && Contains("ib100"));
  for (const std::string arm : {"small", "big"}) {
    const std::string means = line_of(run.out.substr(run.out.find("\narm ")), arm);
    CHECK_THAT(means,
               Matches(arm + " +2/2 +[0-9.]+ ± [0-9.]+ +[0-9.]+ k?B +[0-9.]+x +[0-9.]+x +[0-9.]+% ± [0-9.]+% .*"));
  }
  const std::string csv = read_file(folder / "out/runs.csv");
  CHECK_THAT(
      csv, StartsWith("arm,seed,status,") && Contains("\nsmall,1,finished,6,0,") && Contains("\nbig,2,finished,6,2,"));
  CHECK(lines(csv) == 5);
}

TEST_CASE("compare: arms of several seeds have verdicts, and those of other problems the reason why they have none",
          "[once]") {
  const Folder folder;
  const Arguments seeds = {"-o", "out", "--seeds", "2", "--overwrite", "--freeze", "fixed:4"};
  const auto compare = [&](const Arguments& more) {
    return run_onebit(folder, tiny_run("compare", joined(seeds, more)));
  };
  const Outcome judged = compare({"--optimizers", "adam,onebit-adam", "--margin", "0.9"});
  CAPTURE(judged.out, judged.err);
  REQUIRE(judged.status == 0);
  CHECK_THAT(judged.out,
             Contains("1 comparison, judged by its 95% interval; equivalent means an interval within ±90%") &&
                 Contains("over 2 paired seeds") && Contains("\nonebit-adam "));
  CHECK_THAT(compare({"--optimizers", "adam,onebit-adam", "--json"}).out, Contains("\"judgement\": "));
  const Outcome others = compare({"--arm", "a:data.examples=333", "--arm", "b:data.examples=444"});
  CHECK(others.status == 0);
  CHECK_THAT(others.out, Contains("no verdicts: the logs cannot be compared because their data differ"));
}

TEST_CASE("compare: logs that are too short for analyze have no verdicts", "[once]") {
  const Folder folder;
  const Arguments one_step =
      tiny_run("compare", {"--optimizers", "adam,sgd", "--seeds", "2", "--steps", "1", "-o", "out", "--overwrite"});
  const std::string reason = "the log has only one step, too few to compare (out/adam-1.h5); more --steps are needed";
  const Outcome text = run_onebit(folder, one_step);
  CAPTURE(text.out, text.err);
  REQUIRE(text.status == 0);
  CHECK_THAT(text.out, Contains("no verdicts: " + reason + "\n") && !Contains("judged by"));
  const Outcome json = run_onebit(folder, joined(one_step, {"--json"}));
  CHECK_THAT(json.out, Contains("\"no_verdicts\": \"" + reason + "\"") && !Contains("\"comparison\""));
  CHECK_THAT(run_onebit(folder, {"analyze", "out"}).err, Contains(reason));
}

TEST_CASE("compare: the time of the runs on clusters that are asked for") {
  const Folder folder;
  const auto compare = [&](const Arguments& more) {
    return run_onebit(folder, tiny_run("compare", joined({"--optimizers", "adam,onebit-adam", "--freeze", "fixed:2",
                                                          "--eval.every", "2", "-o", "out"},
                                                         more)));
  };
  const Outcome refused =
      compare({"--cluster", "paper-ethernet", "--cluster.gpus-per-node", "2", "--cluster.nodes", "3"});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Contains("2 workers do not match 3 nodes"));
  CHECK(entries(folder).empty());  // before anything ran
  CHECK(compare({"--sweep.bandwidth", "1e6:1e9:4"}).status == 2);
  CHECK(compare({"--workload", "bert-larger"}).status == 2);
  CHECK(compare({"--cluster", "eth1,eth1"}).status == 2);
  const Outcome other = compare({"--workload", "gpt2-xl"});
  CHECK(other.status == 2);
  CHECK_THAT(other.err, Contains("workload belongs to another model") && Contains("arm adam has 43 parameters"));
  CHECK(entries(folder).empty());
  const Outcome run =
      compare({"--cluster", "eth1,ib100", "--step.forward", "1", "--step.backward", "2", "--step.optimizer", "0"});
  CAPTURE(run.out, run.err);
  REQUIRE(run.status == 0);
  CHECK_THAT(run.out, Contains("time of the run") && Contains("eth1") && Contains("ib100"));
  CHECK(line_of(run.out.substr(run.out.find("time of the run")), "adam").find("18 s") != std::string::npos);  // 6 x 3 s
  if (std::system("command -v gnuplot >/dev/null 2>&1") == 0) {
    CHECK(std::filesystem::exists(folder / "out/loss-time-eth1.svg"));
    CHECK(std::filesystem::exists(folder / "out/loss-time-ib100.png"));
  }
}

TEST_CASE("compare: arms of one seed see the same data and initial weights") {
  const Folder folder;
  REQUIRE(run_onebit(folder, tiny_run("compare", {"-o", "out", "--optimizers", "adam,onebit-adam", "--freeze",
                                                  "fixed:4", "--seeds", "2"}))
              .status == 0);
  const auto losses = [&](const std::string& name) {
    return sim::LogReader(folder / ("out/" + name + ".h5")).column("steps/loss");
  };
  const std::vector<double> adam = losses("adam-1"), compressed = losses("onebit-adam-1");
  REQUIRE(adam.size() == 6);
  for (std::size_t step = 0; step < 5; ++step) CHECK(adam[step] == compressed[step]);  // the fifth uses dense weights
  CHECK(adam[5] != compressed[5]);
  CHECK(losses("adam-2")[0] != adam[0]);
}

TEST_CASE("compare: pictures are drawn and named") {
  ONEBIT_SKIP_UNLESS(gnuplot, "gnuplot", "no gnuplot");
  const Folder folder;
  const Outcome run = run_onebit(folder, two_arms());
  REQUIRE(run.status == 0);
  for (const std::string name : {"loss-step", "loss-bytes"}) {
    for (const std::string type : {".svg", ".png"}) {
      CHECK_THAT(run.out, Contains("out/" + name + type));
      CHECK(std::filesystem::file_size(folder / ("out/" + name + type)) > 1000);
    }
    CHECK_THAT(read_file(folder / ("out/" + name + ".svg")), Contains("small") && Contains("big"));
  }
}

TEST_CASE("compare: the variance ratio is drawn where there is one") {
  ONEBIT_SKIP_UNLESS(gnuplot, "gnuplot", "no gnuplot");
  const Folder folder;
  const Outcome run = run_onebit(folder, two_arms({"--freeze.lag", "1", "--optimizer.beta2", "0.5"}));
  REQUIRE(run.status == 0);
  CHECK(std::filesystem::file_size(folder / "out/variance-ratio.svg") > 1000);
}

TEST_CASE("compare: without gnuplot it says so, and all else is there") {
  const Folder folder;
  const Variable path("PATH", folder / "nowhere");
  const Outcome run = run_onebit(folder, two_arms());
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("no pictures: gnuplot is not installed"));
  CHECK(std::filesystem::exists(folder / "out/runs.csv"));
}

TEST_CASE("compare: an arm that diverges is a row") {
  const Folder folder;
  const Outcome run =
      run_onebit(folder, tiny_run("compare", {"-o", "out", "--seeds", "2", "--arm", "wild:optimizer.lr=1e38", "--arm",
                                              "tame:optimizer.lr=1e-3", "--eval.every", "6"}));
  CAPTURE(run.err);
  CHECK(run.status == 0);
  CHECK_THAT(line_of(run.out, "wild"), Contains("diverged"));
  CHECK_THAT(line_of(run.out, "tame"), Contains("finished"));
  CHECK_THAT(run.out, Contains("0/2") && Contains("2/2"));
  CHECK(sim::LogReader(folder / "out/wild-1.h5").status() == sim::RunStatus::diverged);
  CHECK_THAT(read_file(folder / "out/runs.csv"), Contains("\nwild,1,diverged,"));
  CHECK(lines(read_file(folder / "out/runs.csv")) == 5);
}

TEST_CASE("compare: an arm that never compresses although asked to is a failure after the table") {
  const Folder folder;
  const Outcome run =
      run_onebit(folder, tiny_run("compare", {"-o", "out", "--optimizers", "adam,onebit-adam", "--freeze", "auto",
                                              "--freeze.lag", "2", "--freeze.threshold", "1"}));
  CHECK(run.status == 1);
  CHECK_THAT(run.err, StartsWith("onebit: error: ") && Contains("out/onebit-adam-1.h5"));
  const std::string table = run.out.substr(run.out.find("\narm "));
  CHECK_THAT(line_of(table, "adam"), Contains("finished"));
  CHECK_THAT(line_of(table, "onebit-adam"), Contains("failed"));
}

TEST_CASE("compare: --overwrite replaces the runs of before", "[once]") {
  const Folder folder;
  REQUIRE(run_onebit(folder, two_arms()).status == 0);
  CHECK(run_onebit(folder, two_arms()).status == 2);
  const Outcome again = run_onebit(folder, two_arms({"--overwrite", "--steps", "8"}));
  CHECK(again.status == 0);
  CHECK_THAT(again.err, !Contains("other runs"));
  CHECK(sim::LogReader(folder / "out/big-2.h5").committed_rows() == 8);
  const Outcome fewer = run_onebit(folder, two_arms({"--overwrite", "--seeds", "1"}));
  CHECK(fewer.status == 0);
  CHECK_THAT(fewer.err, Contains("out also holds 2 logs of other runs (big-2.h5, "));
}

TEST_CASE("compare: arms of the command line replace those of a preset") {
  const Folder folder;
  std::filesystem::create_directory(folder / "presets");
  write_file(folder / "presets/mine.ini", "arm = one:optimizer.lr=1e-3\narm = two:optimizer.lr=1e-2\n");
  const Variable presets("ONEBIT_PRESETS", folder / "presets");
  const Outcome both = run_onebit(folder, tiny_run("compare", {"--dry-run", "-o", "out", "--preset", "mine"}));
  CHECK(both.out == "one: 1 runs\ntwo: 1 runs\n");
  const Outcome own =
      run_onebit(folder, tiny_run("compare", {"--dry-run", "-o", "out", "--preset", "mine", "--optimizers", "adam"}));
  CHECK(own.out == "adam: 1 runs\n");
}
