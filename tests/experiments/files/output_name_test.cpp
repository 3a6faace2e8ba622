// Outputs that the user has not named, and commands that continue what was stopped.

#include "experiments/cli/output_name.hpp"
#include "device/base/error.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::experiments;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

/// Returns the name of the only entry in a folder.
std::string only_entry(const Folder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "")) {
    names.push_back(entry.path().filename().string());
  }
  REQUIRE(names.size() == 1);
  return names.front();
}

}  // namespace

TEST_CASE("output name: a run, a comparison and a sweep without -o make one up and say which", "[once]") {
  const Arguments sweep = tiny_run("sweep", {"--axis", "batch=1,2", "--jobs", "1"});
  const std::vector<std::pair<Arguments, std::string>> commands = {
      {tiny_run("run"), "run-20"},
      {tiny_run("compare", {"--optimizers", "adam,sgd"}), "compare-20"},
      {sweep, "sweep-20"}};
  for (const auto& [command, start] : commands) {
    const Folder folder;
    const Outcome run = run_onebit(folder, command);
    CAPTURE(command, run.err);
    CHECK(run.status == 0);
    const std::string name = only_entry(folder);
    CHECK_THAT(name, StartsWith(start));
    CHECK(run.err == "onebit: the output is " + name + "; -o gives it another name\n");
  }
}

TEST_CASE("output name: a report without -o makes one up, and a plan needs none") {
  const Folder folder;
  REQUIRE(run_onebit(folder, tiny_run("run", {"-o", "run.h5"})).status == 0);
  const Outcome report = run_onebit(folder, {"report", "run.h5"});
  CHECK(report.status == 0);
  CHECK_THAT(report.out, StartsWith("report-20") && Contains(".html\n"));
  const auto before = entries(folder);
  CHECK(before.size() == 2);
  CHECK(run_onebit(folder, tiny_run("run", {"--dry-run"})).err.empty());
  CHECK(run_onebit(folder, tiny_run("compare", {"--dry-run"})).err.empty());
  CHECK(entries(folder) == before);
}

TEST_CASE("output name: a command that is refused says nothing about a name and leaves nothing") {
  const Folder folder;
  const Outcome run = run_onebit(folder, tiny_run("compare", {"--optimizers", "adam,adm"}));
  CHECK(run.status == 2);
  CHECK_THAT(run.err, StartsWith("onebit: error: ") && !Contains("the output is"));
  CHECK(entries(folder).empty());
}

TEST_CASE("output name: two names of the same second differ") {
  const Folder folder;
  const std::string stem = folder / "x";
  const std::string first = made_up_name(stem, ".h5", "");
  write_file(first, "");
  CHECK(made_up_name(stem, ".h5", "") != first);
  CHECK_THROWS_WITH(made_up_name("run", ".h5", "--resume"), Contains("run --resume"));
}

TEST_CASE("output name: the command that continues is the one that was typed, quoted, without --overwrite") {
  CommandInput input;
  input.words = {"run", "--model.command", "python3 w.py", "--overwrite", "-o", "a.h5"};
  CHECK(command_again(input, "a.h5", "--resume") == "onebit run --model.command 'python3 w.py' -o a.h5 --resume");
  CHECK(command_again(input, "a.h5", "") == "onebit run --model.command 'python3 w.py' -o a.h5");
  input.words = {"sweep", "--resume"};
  input.made_up_name = true;
  CHECK(command_again(input, "s-1", "--resume") == "onebit sweep -o s-1 --resume");
}

TEST_CASE("output name: the command printed at a stop continues the run to its end", "[once]") {
  const Folder folder;
  Process process(folder / "", onebit_command(tiny_run("run", {"--steps", "100000", "--eval.every", "50000"})));
  std::string log;
  REQUIRE(process.poll([&] {
    for (const auto& entry : std::filesystem::directory_iterator(folder / "")) log = entry.path().string();
    return log.ends_with(".h5");
  }));
  process.send(SIGINT);
  const Outcome stopped = process.finish();
  if (stopped.status == 0) return;  // it was faster than the signal
  CHECK(stopped.status == 130);
  const std::string start = "onebit: stopped; to continue: onebit ";
  const std::size_t at = stopped.err.find(start);
  REQUIRE(at != std::string::npos);
  std::string command = stopped.err.substr(at + start.size());
  command.pop_back();
  CHECK_THAT(command, Contains(" -o run-20") && Contains(" --resume"));
  const Outcome resumed = run_in(folder, {"sh", "-c", std::string(ONEBIT_PROGRAM) + " " + command});
  CAPTURE(resumed.err);
  CHECK(resumed.status == 0);
  CHECK_THAT(line_of(resumed.out, "status"), Contains("finished"));
}
