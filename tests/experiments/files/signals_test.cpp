// Runs that are interrupted: Ctrl-C ends one cleanly, a kill leaves what was committed.

#include "device/base/error.hpp"
#include "sim/log/reader.hpp"
#include "sim/log/schema.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

Arguments endless(const std::string& command, const Arguments& more = {}) {
  return onebit_command(
      tiny_run(command, joined({"--steps", "100000000", "--log.flush", "0.01", "--eval.every", "50"}, more)));
}

/// Committed rows of /steps; 0 while the log cannot be read yet.
Index committed(const std::string& path) {
  try {
    return sim::LogReader(path).committed_rows();
  } catch (const Error&) {
    return 0;
  }
}

bool wait_for_rows(Process& process, const std::string& path, Index rows) {
  return process.poll([&] { return committed(path) >= rows; });
}

/// Arguments: log, then pairs of group and path of its count.
constexpr const char* kCheckRows = R"(
import sys, h5py
with h5py.File(sys.argv[1], 'r', libver='latest', swmr=True) as log:
    for group, count in zip(sys.argv[2::2], sys.argv[3::2]):
        rows = int(log[count][()])
        item = log[group]
        columns = item.values() if isinstance(item, h5py.Group) else [item]
        assert all(column.shape[0] >= rows for column in columns), group
        assert all(len(column[:rows]) == rows for column in columns), group
        print(group, rows)
)";

Arguments row_counts() {
  Arguments counts;
  for (const sim::RowGroup& group : sim::row_groups()) {
    counts.emplace_back(group.name);
    counts.emplace_back(group.committed);
  }
  return counts;
}

void check_stopped(const std::string& path, const Outcome& run) {
  CAPTURE(run.err, run.out);
  CHECK(run.status == 130);
  const sim::LogReader log(path);
  CHECK(log.status() == sim::RunStatus::stopped);
  CHECK(log.closed());
  const std::vector<double> steps = log.column("steps/step");
  REQUIRE(steps.size() >= 20);
  CHECK(steps.back() == static_cast<double>(steps.size()));
  CHECK(log.traffic().size() == steps.size());
  REQUIRE(log.events().size() == 1);
  CHECK(log.events()[0].kind == "stop");
  CHECK(log.events()[0].step == static_cast<Index>(steps.size()));
}

}  // namespace

TEST_CASE("signals: Ctrl-C and SIGTERM end a run with a complete log and a summary") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Folder folder;
    const Arguments typed = endless("run", {"-o", "run.h5", "--eval.every", "10000000"});  // never where it is stopped
    Process process(folder / "", typed);
    REQUIRE(wait_for_rows(process, folder / "run.h5", 20));
    process.send(signal);
    const Outcome run = process.finish();
    check_stopped(folder / "run.h5", run);
    std::string again = "onebit";
    for (std::size_t i = 1; i < typed.size(); ++i) again += " " + typed[i];
    CHECK(run.err == "onebit: stopped; to continue: " + again + " --resume\n");
    CHECK_THAT(line_of(run.out, "status"), Contains("stopped"));
    CHECK_THAT(run.out, Contains("at the evaluation of step ") && !Contains("final"));
    CHECK_THAT(run.out, Contains("sent per worker") && EndsWith("\nlog: run.h5\n"));
  }
}

TEST_CASE("signals: Ctrl-C ends a comparison with the table of what there is") {
  const Folder folder;
  Process process(folder / "", endless("compare", {"-o", "out", "--freeze", "never", "--seeds", "2"}));
  REQUIRE(wait_for_rows(process, folder / "out/adam-1.h5", 20));
  process.send(SIGINT);
  const Outcome run = process.finish();
  check_stopped(folder / "out/adam-1.h5", run);
  CHECK_THAT(line_of(run.out.substr(run.out.find("\narm ")), "adam"), Contains("stopped"));
  CHECK_THAT(run.err, Contains("onebit: stopped; to continue: onebit compare ") &&
                          EndsWith(" -o out --freeze never --seeds 2 --resume\n"));
  CHECK(std::filesystem::exists(folder / "out/runs.csv"));
  CHECK_FALSE(std::filesystem::exists(folder / "out/adam-2.h5"));
}

TEST_CASE("signals: a killed run opens in inspect, with all committed rows") {
  const Folder folder;
  Process process(folder / "", endless("run", {"-o", "run.h5"}));
  REQUIRE(wait_for_rows(process, folder / "run.h5", 20));
  const Index before = committed(folder / "run.h5");
  process.send(SIGKILL);
  CHECK(process.finish().status == 128 + SIGKILL);
  CHECK(committed(folder / "run.h5") >= before);
  const Outcome shown = run_onebit(folder, {"inspect", "run.h5"});
  CHECK(shown.status == 0);
  CHECK(shown.err.empty());
  CHECK_THAT(line_of(shown.out, "status"), Contains("interrupted at step "));
  CHECK_THAT(line_of(shown.out, "closed by its writer"), Contains("killed"));
  CHECK_THAT(line_of(shown.out, "committed rows of steps"), Contains(std::to_string(committed(folder / "run.h5"))));
}

TEST_CASE("signals: a killed run opens in h5py, with all committed rows") {
  const std::string python = find_python("h5py");
  ONEBIT_SKIP_UNLESS(!python.empty(), "h5py", "no python3 with h5py");
  const Folder folder;
  Process process(folder / "", endless("run", {"-o", "run.h5", "--probe.every", "10"}));
  REQUIRE(wait_for_rows(process, folder / "run.h5", 120));
  process.send(SIGKILL);
  process.finish();
  const Outcome read = run_in(folder, joined({python, "-c", kCheckRows, "run.h5"}, row_counts()));
  CAPTURE(read.err);
  CHECK(read.status == 0);
  CHECK_THAT(read.out, Contains("steps " + std::to_string(committed(folder / "run.h5")) + "\n"));
}

TEST_CASE("signals: a live run can be inspected") {
  const Folder folder;
  Process process(folder / "", endless("run", {"-o", "run.h5"}));
  REQUIRE(wait_for_rows(process, folder / "run.h5", 20));
  const Outcome shown = run_onebit(folder, {"inspect", "run.h5", "--json"});
  CHECK(process.running());
  CHECK(shown.status == 0);
  CHECK(json_value(shown.out, "status") == "\"running\"");
  CHECK(std::stol(json_value(shown.out.substr(shown.out.find("committed_rows")), "steps")) >= 20);
}

TEST_CASE("signals: the log of a live run is not replaced, not even with --overwrite") {
  const Folder folder;
  Process process(folder / "", endless("run", {"-o", "run.h5"}));
  REQUIRE(wait_for_rows(process, folder / "run.h5", 20));
  const Outcome second = run_onebit(folder, tiny_run("run", {"-o", "run.h5", "--overwrite"}));
  CHECK(second.status == 2);
  CHECK_THAT(second.err, StartsWith("onebit: error: ") && Contains("run.h5"));
  process.send(SIGINT);
  check_stopped(folder / "run.h5", process.finish());
}
