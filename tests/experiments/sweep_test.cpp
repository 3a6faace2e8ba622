// Sweeps as processes: interrupted, shared among shards, with runs that fail, hang or are killed.

#include <iostream>
#include <map>
#include <sstream>

#include "sim/log/log_state.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

namespace fs = std::filesystem;

/// Three optimizers and two rates, paired seeds: points that take tens of milliseconds.
Arguments grid(const std::string& out, const Arguments& more = {}, const std::string& seeds = "4") {
  return tiny_run("sweep", joined({"--steps", "300", "--axis", "optimizer=adam,onebit-adam,sgd", "--axis",
                                   "optimizer.lr=1e-3,1e-2", "--freeze", "fixed:100", "--skip",
                                   "optimizer=sgd,optimizer.lr=1e-3", "--seeds", seeds, "-o", out},
                                  more));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The index without its last column, which is a time.
std::string without_times(const std::string& index) {
  std::string text;
  for (const std::string& line : lines_of(index)) text += line.substr(0, line.rfind(',')) + "\n";
  return text;
}

std::string index_of(const Folder& folder, const std::string& out) {
  return without_times(read_file(folder / (out + "/index.csv")));
}

Index count(const std::string& text, const std::string& part) {
  Index found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Returns the files of a folder whose names have this ending.
std::vector<std::string> files(const Folder& folder, const std::string& out, const std::string& end) {
  std::vector<std::string> names;
  if (!fs::exists(folder / out)) return names;
  for (const auto& entry : fs::directory_iterator(folder / out)) {
    if (entry.path().string().ends_with(end)) names.push_back(entry.path().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Returns the logs of points, which are all logs except the index.
std::vector<std::string> logs(const Folder& folder, const std::string& out) {
  std::vector<std::string> names = files(folder, out, ".h5");
  std::erase_if(names, [](const std::string& name) { return name.ends_with("/index.h5"); });
  return names;
}

Arguments endless(const Arguments& more = {}) {
  return tiny_run("sweep", joined({"--steps", "100000000", "--log.flush", "0.01", "--eval.every", "1000", "--jobs", "1",
                                   "-o", "out"},
                                  more));
}

/// Starts the sweep repeatedly, and ends it by a signal after a few more points each time; then lets it finish. All
/// signals come in the first third of its points, so that it does not end before them. Returns how often it was
/// interrupted.
Index play_interrupted(const Folder& folder, const Arguments& sweep, const std::vector<int>& signals, Index points) {
  Index interrupted = 0;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    Process process(folder / "", onebit_command(sweep));
    const Index until = points * static_cast<Index>(i + 1) / static_cast<Index>(3 * signals.size());
    process.poll([&] { return static_cast<Index>(logs(folder, "out").size()) >= until; });
    process.send(signals[i]);
    const Outcome end = process.finish();
    CAPTURE(i, end.err, end.out);
    CHECK(end.status == (signals[i] == SIGKILL ? 128 + SIGKILL : 130));
    if (signals[i] != SIGKILL) CHECK_THAT(read_file(folder / "out/index.csv"), Contains(",waiting,"));
    ++interrupted;
  }
  const Outcome end = run_onebit(folder, sweep);
  CAPTURE(end.err, end.out);
  CHECK(end.status == 0);
  return interrupted;
}

/// Returns the runs of the sweep that holds a lock, without processes that only read a file for it, are being started,
/// or have ended.
std::vector<pid_t> children_of(const std::string& lock) {
  std::istringstream words(read_file(lock));
  std::string host, process;
  words >> host >> process;
  std::ifstream file("/proc/" + process + "/task/" + process + "/children");
  std::vector<pid_t> children;
  const std::string own = line_of_process("/proc/" + process + "/cmdline");
  for (pid_t child = 0; file >> child;) {
    const std::string command = line_of_process("/proc/" + std::to_string(child) + "/cmdline");
    if (!command.empty() && command != own && command.find("--read-for-parent") == std::string::npos)
      children.push_back(child);
  }
  return children;
}

}  // namespace

TEST_CASE("sweep: --resume takes what to sweep from the folder", "[once]") {
  const Folder folder;
  const Arguments first = tiny_run("sweep", {"--axis", "optimizer.lr=1e-3,1e-2", "-o", "out"});
  const Arguments more = tiny_run("sweep", {"--axis", "optimizer.lr=1e-1", "--extend", "-o", "out"});
  const Outcome none = run_onebit(folder, {"sweep", "--resume", "-o", "out"});
  CHECK(none.status == 2);
  CHECK_THAT(none.err, StartsWith("onebit: error: there is no sweep to continue (out/sweep.ini)"));
  REQUIRE(run_onebit(folder, first).status == 0);
  REQUIRE(run_onebit(folder, more).status == 0);
  const std::string index = index_of(folder, "out");
  for (const std::string& log : logs(folder, "out")) fs::remove(log);
  const Outcome resumed = run_onebit(folder, {"sweep", "--resume", "-o", "out", "--jobs", "1", "--threads", "1"});
  CAPTURE(resumed.err);
  CHECK(resumed.status == 0);
  CHECK_THAT(resumed.err, StartsWith("onebit: continuing out with the options in its sweep.ini: ") &&
                              Contains("axis = optimizer.lr=0.001,0.01"));
  CHECK(count(resumed.err, "\n") == 1);
  CHECK(logs(folder, "out").size() == 3);
  CHECK(index_of(folder, "out") == index);
  CHECK_THAT(run_onebit(folder, {"sweep", "--resume", "-o", "out"}).err, StartsWith("onebit: nothing to do in out\n"));
  const Outcome both = run_onebit(folder, joined(first, {"--resume"}));
  CHECK(both.status == 2);
  CHECK_THAT(both.err, StartsWith("onebit: error: --resume takes the definition of the sweep from the folder"));
}

TEST_CASE("sweep: every point is a run with a log, and the index has them all") {
  const Folder folder;
  const Outcome run = run_onebit(folder, grid("out", {}, "2"));
  CAPTURE(run.err, run.out);
  REQUIRE(run.status == 0);
  CHECK(run.err.empty());
  const std::string index = read_file(folder / "out/index.csv");
  CHECK_THAT(index, StartsWith("name,optimizer,optimizer.lr,seed,status,last_step,train_loss,eval_loss,"));
  CHECK(count(index, ",done,300,") == 10);
  CHECK_THAT(run.out, Contains("\nonebit-adam ") && Contains("individual runs: out/index.csv") &&
                          Contains(" has the lowest mean final loss, "));
  CHECK(files(folder, "out", ".part").empty());
  CHECK(files(folder, "out", "lock-0-1").empty());
  const std::string first = lines_of(index)[1].substr(0, 16);
  const sim::LogReader log(folder / ("out/" + first + ".h5"));
  CHECK(log.status() == sim::RunStatus::finished);
  // The same configuration in a single run gives the same losses.
  REQUIRE(run_onebit(folder, tiny_run("run", {"--steps", "300", "--optimizer.lr", "1e-3", "--freeze", "fixed:100", "-o",
                                              "alone.h5"}))
              .status == 0);
  CHECK(sim::LogReader(folder / "alone.h5").column("steps/loss") == log.column("steps/loss"));
}

TEST_CASE("sweep: runs of other lengths are evaluated on the same examples, and can be compared", "[once]") {
  const Folder folder;
  const Arguments sweep = {"sweep",
                           "--model",
                           "mlp",
                           "--model.layers",
                           "8,4,3",
                           "--data",
                           "synthetic",
                           "--data.features",
                           "8",
                           "--data.classes",
                           "3",
                           "--workers",
                           "2",
                           "--batch",
                           "4",
                           "--threads",
                           "1",
                           "--axis",
                           "steps=40,400",
                           "-o",
                           "out"};
  REQUIRE(run_onebit(folder, sweep).status == 0);
  std::set<std::string> examples, every;
  for (const std::string& path : logs(folder, "out")) {
    const std::vector<std::pair<std::string, std::string>> config = sim::LogReader(path).header().config;
    const std::map<std::string, std::string> options(config.begin(), config.end());
    examples.insert(options.at("eval.examples"));
    every.insert(options.at("eval.every"));
  }
  CHECK(examples == std::set<std::string>{"80"});  // half of what 40 steps train on, at the start and at the end
  CHECK(every.size() == 2);
  const Outcome analyzed = run_onebit(folder, {"analyze", "out"});
  CAPTURE(analyzed.err);
  CHECK(analyzed.status == 0);
  CHECK(run_onebit(folder, sweep).status == 0);  // logs are found by their names
}

TEST_CASE("sweep: points that come later are evaluated on the examples of those that are there", "[once]") {
  const Folder folder;
  const auto sweep = [&](const std::string& lengths) {
    return run_onebit(folder, tiny_run("sweep", {"--axis", "steps=" + lengths, "-o", "out", "--extend"}));
  };
  REQUIRE(sweep("400").status == 0);
  const Outcome more = sweep("40,400");
  CAPTURE(more.err);
  REQUIRE(more.status == 0);
  std::set<std::string> examples;
  for (const std::string& path : logs(folder, "out")) {
    const sim::LogReader log(path);
    for (const auto& [name, value] : log.header().config) {
      if (name == "eval.examples") examples.insert(value);
    }
  }
  CHECK(logs(folder, "out").size() == 2);
  CHECK(examples.size() == 1);
}

TEST_CASE("sweep: epochs are counted where evaluations are chosen") {
  const Folder folder;
  REQUIRE(run_onebit(folder, tiny_run("sweep", {"--steps", "0", "--axis", "epochs=1,2", "-o", "out"})).status == 0);
  for (const std::string& path : logs(folder, "out")) {
    const sim::LogReader log(path);
    const std::vector<double> steps = log.column("steps/step");
    for (const auto& [name, value] : log.header().config) {
      if (name == "eval.examples") CHECK(std::stod(value) <= steps.back());  // half of 4 per step, for two evaluations
    }
  }
}

TEST_CASE("sweep: the same command again runs nothing, another one is refused or extends") {
  const Folder folder;
  const Arguments sweep = tiny_run("sweep", {"--axis", "optimizer.lr=1e-3,1e-2", "-o", "out"});
  REQUIRE(run_onebit(folder, sweep).status == 0);
  const std::string index = read_file(folder / "out/index.csv");
  REQUIRE(run_onebit(folder, joined(sweep, {"--threads", "2", "--jobs", "2"})).status == 0);
  CHECK(read_file(folder / "out/index.csv") == index);  // including times
  const Arguments other = tiny_run("sweep", {"--axis", "optimizer.lr=1e-2,1e-1", "-o", "out"});
  const Outcome refused = run_onebit(folder, other);
  CHECK(refused.status == 2);
  CHECK(count(refused.err, "\n") == 1);
  CHECK_THAT(
      refused.err,
      StartsWith("onebit: error: the folder holds another sweep: it has 'axis = optimizer.lr=0.001,0.01' instead"));
  REQUIRE(run_onebit(folder, joined(other, {"--extend"})).status == 0);
  const std::vector<std::string> extended = lines_of(read_file(folder / "out/index.csv"));
  REQUIRE(extended.size() == 4);
  CHECK(extended[1] == lines_of(index)[1]);
  CHECK(extended[2] == lines_of(index)[2]);
  CHECK_THAT(extended[3], Contains(",0.1,1,done,"));
}

TEST_CASE("sweep: bad values are one line, before anything is written") {
  const Folder folder;
  const std::vector<std::pair<Arguments, std::string>> bad = {
      {{"--axis", "optimizer.lr=1e-3,-1"}, "point optimizer.lr -1"},
      {{"--axis", "optimizer.lr=1e-3,x"}, "optimizer.lr 'x'"},
      {{"--axis", "optimizer=adam,adan"}, "point optimizer adan"},
      {{"--axis", "optimizer=adam,signsgd", "--axis", "codec=sign,top-k"}, "point optimizer signsgd, codec sign"},
      {{"--axis", "freeze=fixed:2,fixd:2", "--optimizer", "onebit-adam"}, "freeze fixd:2"},
      {{"--axis", "workers=2,0"}, "point workers 0"},
      {{"--axis", "model.init=nowhere.h5"}, "nowhere.h5"},
      {{"--axis", "optimizer.lr"}, "malformed axis"},
      {{"--zip", "workers,batch"}, "zip"},
      {{"--tune", "optimizer.lr=1:0"}, "bad range"},
      {{"--tune", "optimizer.lr=1e-3:1e-1", "--tune-points", "1"}, "tune-points"},
      {{"--tune", "optimizer.lr=1e-3:1e-1", "--tune", "optimizer.eps=1e-9:1e-7"}, "only one option can be tuned"},
      {{"--tune-points", "4"}, "--tune-points without --tune"},
      {{"--shard", "2/2"}, "shard"},
      {{"--time-limit", "-1"}, "time-limit"},
      {{"--jobs", "-1"}, "jobs"}};
  for (const auto& [arguments, words] : bad) {
    const Outcome run = run_onebit(folder, joined(tiny_run("sweep", {"-o", "out"}), arguments));
    CAPTURE(words, run.err);
    CHECK(run.status == 2);
    CHECK(count(run.err, "\n") == 1);
    CHECK_THAT(run.err, StartsWith("onebit: error: ") && Contains(words));
    CHECK(entries(folder).empty());
  }
}

TEST_CASE("sweep: a dry run shows the points and leaves nothing") {
  const Folder folder;
  const Outcome run = run_onebit(folder, grid("out", {"--dry-run"}));
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("20 points") && Contains("waiting") && Contains("MB"));
  const Outcome json = run_onebit(folder, grid("out", {"--dry-run", "--json"}));
  CHECK(count(json.out, "\"name\"") == 20);
  CHECK(entries(folder).empty());
}

TEST_CASE("sweep: killed and stopped several times it ends with the index of an undisturbed one", "[once]") {
  const Folder folder;
  REQUIRE(run_onebit(folder, grid("undisturbed")).status == 0);
  CHECK(play_interrupted(folder, grid("out"), {SIGKILL, SIGTERM, SIGKILL}, 20) == 3);
  CHECK(index_of(folder, "out") == index_of(folder, "undisturbed"));
  CHECK(count(index_of(folder, "out"), ",done,300,") == 20);
  CHECK(files(folder, "out", ".part").empty());
  for (const auto& entry : fs::directory_iterator(folder / "out")) {
    CHECK(entry.path().string().find(".checkpoint-") == std::string::npos);
  }
}

TEST_CASE("sweep: a note that a point failed goes once its log can be read") {
  const Folder folder;
  const Arguments sweep = tiny_run("sweep", {"--axis", "steps=4,6", "-o", "out"});
  REQUIRE(run_onebit(folder, sweep).status == 0);
  const std::string index = index_of(folder, "out"), log = files(folder, "out", ".h5").front();
  const std::string note = log.substr(0, log.size() - 3) + ".failed";
  write_file(note, "failed\nthere was no memory to read its log\n");
  CHECK(run_onebit(folder, sweep).status == 0);
  CHECK_FALSE(fs::exists(note));
  CHECK(index_of(folder, "out") == index);
}

TEST_CASE("sweep: two shards at once share a folder and agree on its index", "[once]") {
  const Folder folder;
  REQUIRE(run_onebit(folder, grid("undisturbed")).status == 0);
  Process first(folder / "", onebit_command(grid("out", {"--shard", "0/2", "--jobs", "1"})));
  const Variable task("SLURM_PROCID", "1"), tasks("SLURM_NTASKS", "2");
  Process second(folder / "", onebit_command(grid("out", {"--jobs", "1"})));
  const Outcome ends[] = {first.finish(), second.finish()};
  for (const Outcome& end : ends) {
    CAPTURE(end.err, end.out);
    CHECK(end.status == 0);
  }
  CHECK_THAT(ends[1].err, Contains("shard 1/2 from SLURM_PROCID"));
  CHECK(index_of(folder, "out") == index_of(folder, "undisturbed"));
}

TEST_CASE("sweep: a second sweep on a folder in use is refused") {
  const Folder folder;
  Process process(folder / "", onebit_command(endless()));
  REQUIRE(process.poll([&] { return !logs(folder, "out").empty(); }));
  const Outcome second = run_onebit(folder, endless());
  CHECK(second.status == 2);
  CHECK(count(second.err, "\n") == 1);
  CHECK_THAT(second.err, StartsWith("onebit: error: another sweep is running in this folder (out/lock-0-1"));
  process.send(SIGINT);
  const Outcome end = process.finish();
  CHECK(end.status == 130);
  CHECK_THAT(read_file(folder / "out/index.csv"), Contains(",waiting,"));
  CHECK(sim::LogReader(logs(folder, "out").front()).status() == sim::RunStatus::stopped);
}

TEST_CASE("sweep: a request to stop that reaches the runs before the sweep ends all of them") {
  const Folder folder;
  for (int i = 0; i < 5; ++i) {
    Process process(folder / "", onebit_command(endless({"--jobs", "4", "--axis", "optimizer.lr=1e-3,1e-2,1e-1,1"})));
    std::vector<pid_t> children;
    process.poll([&] {
      children = children_of(folder / "out/lock-0-1");
      return !children.empty();
    });
    for (const pid_t child : children) kill(child, SIGTERM);
    process.send(SIGTERM);
    const bool ended = process.poll([&] { return !process.running(); }, std::chrono::seconds(30));
    CHECK(ended);
    CHECK(process.finish().status == 130);
  }
}

TEST_CASE("sweep: its runs are seen to end also where whoever started it ignores that") {
  const Folder folder;
  const Outcome run = run_in(folder, {"/bin/sh", "-c", "trap '' CHLD; exec \"$@\"", "sh", ONEBIT_PROGRAM, "sweep",
                                      "--model", "mlp", "--data", "synthetic", "--steps", "3", "-o", "out"});
  CAPTURE(run.err);
  CHECK(run.status == 0);
}

TEST_CASE("sweep: runs end with a sweep that is killed") {
  const Folder folder;
  Process process(folder / "", onebit_command(endless()));
  REQUIRE(process.poll([&] { return !children_of(folder / "out/lock-0-1").empty() && !logs(folder, "out").empty(); }));
  const pid_t child = children_of(folder / "out/lock-0-1").at(0);
  process.send(SIGKILL);
  CHECK(process.finish().status == 128 + SIGKILL);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto gone = [&] {
    const std::string status = line_of_process("/proc/" + std::to_string(child) + "/stat");
    return status.empty() || status.find(") Z") != std::string::npos;
  };
  while (!gone() && std::chrono::steady_clock::now() < end) usleep(3000);
  CHECK(gone());
}

TEST_CASE("sweep: a run that is killed is tried again, and takes no other with it", "[once]") {
  const Folder folder;
  Process process(folder / "",
                  onebit_command(grid("out", {"--jobs", "1", "--steps", "20000", "--log.every", "100"}, "1")));
  REQUIRE(process.poll([&] { return !children_of(folder / "out/lock-0-1").empty() && !logs(folder, "out").empty(); }));
  kill(children_of(folder / "out/lock-0-1").at(0), SIGKILL);
  const Outcome end = process.finish();
  CAPTURE(end.err, end.out);
  CHECK(end.status == 0);
  CHECK(count(read_file(folder / "out/index.csv"), ",done,20000,") == 5);
}

TEST_CASE("sweep: a run that takes too long is ended, and stays so until asked for again", "[once]") {
  const Folder folder;
  const Arguments sweep = tiny_run("sweep", {"--axis", "steps=6,100000000", "--log.flush", "0.01", "--eval.every",
                                             "1000", "--time-limit", "1", "-o", "out"});
  const Outcome run = run_onebit(folder, sweep);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("exceeded the time limit") && Contains("onebit: error: 1 of 2 points failed"));
  const std::string index = read_file(folder / "out/index.csv");
  CHECK_THAT(index, Contains(",6,1,done,6,") && Contains(",100000000,1,timeout,0,nan"));
  const auto written = fs::last_write_time(files(folder, "out", ".out").front());
  const Outcome again = run_onebit(folder, sweep);
  CHECK(again.status == 1);
  CHECK(read_file(folder / "out/index.csv") == index);
  for (const std::string& out : files(folder, "out", ".out"))
    CHECK(fs::last_write_time(out) <= written + std::chrono::seconds(5));
  const Outcome retried = run_onebit(folder, joined(sweep, {"--retry-failed"}));
  CHECK(retried.status == 1);
  CHECK_THAT(retried.err, Contains("exceeded the time limit"));
}

TEST_CASE("sweep: a run that fails is a row with a reason, one that diverges a result") {
  const Folder folder;
  const Outcome run =
      run_onebit(folder, tiny_run("sweep", {"--axis", "freeze=fixed:2,auto", "--axis", "optimizer.lr=1e-3,1e38",
                                            "--optimizer", "onebit-adam", "--freeze.lag", "2", "--freeze.threshold",
                                            "1", "--eval.every", "6", "-o", "out"}));
  CAPTURE(run.err, run.out);
  CHECK(run.status == 1);
  const std::string index = read_file(folder / "out/index.csv");
  CHECK_THAT(index, Contains(",fixed:2,0.001,1,done,6,") && Contains(",auto,0.001,1,failed,0,nan"));
  CHECK(count(index, ",diverged,") == 2);
  CHECK_THAT(run.err, Contains("freeze auto, optimizer.lr 0.001, seed 1 failed: "));
  CHECK(count(run.err, "failed: ") == 1);
}

TEST_CASE("sweep: a log that was damaged fails alone, and is put aside when it is tried again") {
  const Folder folder;
  const Arguments sweep =
      tiny_run("sweep", {"--axis", "optimizer.lr=1e-3,1e-2", "--checkpoint.every", "2", "-o", "out"});
  REQUIRE(run_onebit(folder, sweep).status == 0);
  const std::string index = index_of(folder, "out"), log = logs(folder, "out").front();
  const std::string whole = read_file(log);
  std::string damaged = whole;
  const std::size_t place = damaged.find("EAIB");  // the index of a column's chunks
  REQUIRE(place != std::string::npos);
  for (std::size_t at = place; at != std::string::npos; at = damaged.find("EAIB", at)) damaged[at] = 'X';
  for (const std::string& bytes : {whole.substr(0, whole.size() / 2), damaged}) {
    write_file(log, bytes);
    const Outcome failed = run_onebit(folder, sweep);
    CAPTURE(failed.err);
    CHECK(failed.status == 1);
    CHECK_THAT(failed.err, Contains("cannot read log") && Contains("1 of 2 points failed"));
    CHECK(run_onebit(folder, sweep).status == 1);
    CHECK(run_onebit(folder, joined(sweep, {"--retry-failed"})).status == 0);
    CHECK(index_of(folder, "out") == index);
    CHECK(files(folder, "out", ".damaged").size() == 1);
  }
}

TEST_CASE("sweep: a damaged log of a run that was stopped is put aside, too") {
  const Folder folder;
  const Arguments stopping = endless({"--checkpoint.every", "100"});
  Process process(folder / "", onebit_command(stopping));
  REQUIRE(process.poll([&] { return !files(folder, "out", "00").empty(); }));
  process.send(SIGINT);
  REQUIRE(process.finish().status == 130);
  const std::string log = logs(folder, "out").front();
  std::string damaged = read_file(log);
  for (std::size_t at = damaged.find("EAIB"); at != std::string::npos; at = damaged.find("EAIB", at)) damaged[at] = 'X';
  write_file(log, damaged);
  CHECK_THAT(run_onebit(folder, stopping).err, Contains("cannot read log"));
  Process again(folder / "", onebit_command(joined(stopping, {"--retry-failed"})));
  CHECK(again.poll([&] { return files(folder, "out", ".damaged").size() == 1 && logs(folder, "out").size() == 1; }));
  again.send(SIGINT);
  CHECK(again.finish().status == 130);
}

TEST_CASE("sweep: points that do not fit in memory fail by name, others run") {
  const Folder folder;
  const Outcome run = run_onebit(folder, tiny_run("sweep", {"--axis", "model.layers=4,5,3;4,1000000,20,1000000,3",
                                                            "--memory", "500MB", "-o", "out"}));
  CAPTURE(run.err, run.out);
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("model.layers 4,1000000,20,1000000,3, seed 1 failed: the run does not fit in memory"));
  CHECK_THAT(read_file(folder / "out/index.csv"),
             Contains("\"4,5,3\",1,done") && Contains("\"4,1000000,20,1000000,3\",1,failed"));
}

TEST_CASE("sweep: no more runs at a time than the memory holds", "[once]") {
  const Folder folder;
  const Arguments sweep =
      tiny_run("sweep", {"--steps", "20000", "--log.every", "100", "--seeds", "6", "--jobs", "6", "-o", "out"});
  const Outcome plan = run_onebit(folder, joined(sweep, {"--dry-run", "--json"}));
  const double bytes = std::stod(json_value(plan.out, "memory"));
  const std::string memory = std::to_string(static_cast<Index>(2.5 * bytes));
  Process process(folder / "", onebit_command(joined(sweep, {"--memory", memory})));
  std::size_t most = 0;
  process.poll([&] {
    most = std::max(most, children_of(folder / "out/lock-0-1").size());
    return !process.running();
  });
  CHECK(process.finish().status == 0);
  CHECK(most == 2);
}

TEST_CASE("sweep: a point whose log another program writes is waited for", "[once]") {
  const Folder folder;
  const Arguments run = {"--steps", "50000", "--log.every", "1000", "--log.flush", "0.01"};
  const Arguments sweep = tiny_run("sweep", joined(run, {"-o", "out"}));
  const Outcome plan = run_onebit(folder, joined(sweep, {"--dry-run", "--json"}));
  const std::string log = "out/" + json_value(plan.out, "name").substr(1, 16) + ".h5";
  fs::create_directory(folder / "out");
  Process begun(folder / "", onebit_command(tiny_run("sweep", joined(run, {"-o", "begun"}))));
  REQUIRE(begun.poll([&] { return fs::exists(folder / "begun/sweep.ini"); }));
  begun.send(SIGTERM);
  begun.finish();
  fs::copy(folder / "begun/sweep.ini", folder / "out/sweep.ini");
  Process orphan(folder / "", onebit_command(tiny_run("run", joined(run, {"-o", log}))));
  REQUIRE(orphan.poll([&] { return fs::exists(folder / log); }));
  orphan.send(SIGSTOP);
  REQUIRE(sim::log_is_in_use(folder / log));
  Process process(folder / "", onebit_command(sweep));
  REQUIRE(process.poll([&] { return fs::exists(folder / "out/index.csv"); }));
  CHECK(process.running());
  CHECK_FALSE(sim::log_is_closed(folder / log));
  orphan.send(SIGKILL);
  const Outcome end = process.finish();
  CAPTURE(end.out);
  CHECK(end.status == 0);
  CHECK_THAT(end.err, Contains("seed 1 waits: another program is writing " + log));
  CHECK_THAT(read_file(folder / "out/index.csv"), Contains(",done,50000,"));
}

TEST_CASE("sweep: a log of other data is not taken as done", "[once]") {
  const Folder folder;
  const auto write = [&](const std::string& word) {
    std::string text;
    for (int i = 0; i < 400; ++i) text += word + " " + std::to_string(i) + "\n";
    write_file(folder / "text.txt", text);
  };
  const auto sweep = [&](const std::string& rates) {
    return run_onebit(
        folder, {"sweep", "--model", "ngram", "--data", "text", "--data.path", "text.txt", "--steps", "3", "--workers",
                 "2", "--batch", "2", "--axis", "optimizer.lr=" + rates, "--extend", "-o", "out"});
  };
  write("one");
  REQUIRE(sweep("1e-3,2e-3").status == 0);
  write("two");
  const Outcome changed = sweep("3e-3,4e-3");
  CHECK(changed.status == 2);
  CHECK_THAT(changed.err, Contains("the data has changed since a point was run"));
  write("one");
  CHECK(sweep("3e-3,4e-3").status == 0);
}

TEST_CASE("sweep: --tune finds each arm's best rate, also when it is interrupted", "[once]") {
  const Folder folder;
  const auto sweep = [&](const std::string& out) {
    return tiny_run("sweep", {"--steps", "150", "--optimizers", "adam,sgd", "--tune", "optimizer.lr=1e-4:10",
                              "--tune-points", "6", "--seeds", "2", "-o", out});
  };
  const Outcome run = run_onebit(folder, sweep("undisturbed"));
  CAPTURE(run.err, run.out);
  REQUIRE(run.status == 0);
  CHECK_THAT(run.out, Contains("\nadam ") && Contains("\nsgd ") && Contains(" *") &&
                          Contains(" has the lowest mean final loss, "));
  CHECK(play_interrupted(folder, sweep("out"), {SIGKILL, SIGTERM}, 20) == 2);
  CHECK(index_of(folder, "out") == index_of(folder, "undisturbed"));
  CHECK(lines_of(index_of(folder, "out")).size() == 25);
  const Outcome json = run_onebit(folder, joined(sweep("out"), {"--json"}));
  CHECK(count(json.out, "\"complete\": true") == 2);
  CHECK(count(json.out, "\"ended\": 2, \"seeds\": 2") == 12);
}

TEST_CASE("long: a sweep of 60 points interrupted five times equals an undisturbed one", "[.long]") {
  const Folder folder;
  const Arguments more = {"--steps", "3000", "--log.every", "10"};
  const auto start = std::chrono::steady_clock::now();
  const Outcome run = run_onebit(folder, grid("undisturbed", joined(more, {"--jobs", "1", "--json"}), "12"));
  const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - start;
  REQUIRE(run.status == 0);
  const double runs = std::stod(json_value(run.out, "run_seconds"));
  CHECK(play_interrupted(folder, grid("out", more, "12"), {SIGKILL, SIGTERM, SIGKILL, SIGINT, SIGKILL}, 60) == 5);
  CHECK(index_of(folder, "out") == index_of(folder, "undisturbed"));
  CHECK(lines_of(index_of(folder, "out")).size() == 61);
  std::cout << "60 points: " << whole.count() << " s, their runs " << runs << " s: " << 100 * (whole.count() / runs - 1)
            << "% more\n";
}
