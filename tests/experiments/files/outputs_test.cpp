// What commands write: file names are never taken for commands, and only regular files are replaced.

#include <sys/stat.h>

#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

Arguments sweep_to(const std::string& folder) {
  return {"price", "--workload",  "bert-large",  "--batch",           "16",         "--workers", "8",   "--cluster",
          "eth10", "--optimizer", "onebit-adam", "--sweep.bandwidth", "1e9:1e10:3", "-o",        folder};
}

void check_refused(const Outcome& run, const std::string& name) {
  CAPTURE(run.out, run.err);
  CHECK(run.status == 2);
  CHECK_THAT(run.err, StartsWith("onebit: error: ") && Contains("not a regular file") && Contains(name));
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
}

/// Every command that writes a file, to `out`.
std::vector<Arguments> writers(const std::string& out) {
  return {
      tiny_run("run", {"-o", out, "--overwrite"}),
      tiny_run("run", {"-o", "new.h5", "--weights-out", out, "--overwrite"}),
      {"report", "log.h5", "-o", out, "--overwrite"},
      {"report", "log.h5", "-o", out, "--csv", "--overwrite"},
      {"export", "log.h5", "--jsonl", "-o", out, "--overwrite"},
      {"price", "--calibrate", "rows.csv", "--cluster", "eth10", "-o", out},
      {"price", "log.h5", "--cluster", "eth10", "--goal", out},
      {"bench", "mpi", "--rounds", "1", "-o", out, "--overwrite"},
  };
}

Folder& prepare(Folder& folder) {
  REQUIRE(run_onebit(folder, tiny_run("run", {"-o", "log.h5"})).status == 0);
  folder.write("rows.csv", "nodes,gpus,bytes,seconds\n1,2,1000,0.1\n2,2,1000,0.1\n2,2,100000,0.2\n");
  return folder;
}

}  // namespace

TEST_CASE("outputs: a name that looks like a command is a name", "[once]") {
  const std::string evil = "|touch owned; '`touch owned`' $(touch owned) \"`touch owned`\" ";
  const Folder folder;
  const Outcome compare = run_onebit(folder, tiny_run("compare", {"-o", evil, "--optimizers", "adam,sgd"}));
  CAPTURE(compare.out, compare.err);
  CHECK(compare.status == 0);
  write_file(folder / "c.ini", "out = |touch owned\noptimizers = adam,sgd\n");
  const Outcome config = run_onebit(folder, tiny_run("compare", {"--config", "c.ini"}));
  CHECK(config.status == 0);
  CHECK(std::filesystem::exists(folder / "|touch owned/runs.csv"));
  CAPTURE(config.err);
  const Outcome price = run_onebit(folder, sweep_to("|touch owned2"));
  CAPTURE(price.err);
  CHECK(price.status == 0);
  CHECK(std::filesystem::exists(folder / "|touch owned2/speedup.csv"));
  if (std::system("command -v gnuplot >/dev/null 2>&1") == 0) {
    CHECK(std::filesystem::exists(folder / "|touch owned/loss-step.svg"));
    CHECK(std::filesystem::exists(folder / "|touch owned2/speedup.png"));
  }
  for (const std::string& path : entries(folder)) CHECK_FALSE(std::filesystem::path(path).filename() == "owned");
  CHECK_FALSE(std::filesystem::exists(folder / "owned2"));
}

TEST_CASE("outputs: a FIFO, a device and a folder stay, whichever command writes", "[once]") {
  Folder folder;
  prepare(folder);
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  std::filesystem::create_symlink("/dev/null", folder / "device");
  std::filesystem::create_directory(folder / "folder");
  const auto before = entries(folder);
  for (const char* out : {"fifo", "device", "folder"}) {
    for (const Arguments& command : writers(out)) {
      CAPTURE(out, command);
      check_refused(run_onebit(folder, command), out);
      CHECK(entries(folder) == before);
    }
  }
  CHECK(std::filesystem::is_fifo(folder / "fifo"));
  CHECK(std::filesystem::is_symlink(folder / "device"));
}

TEST_CASE("outputs: what leads to an open file, as /dev/stdout does, stays what it is", "[once]") {
  Folder folder;
  prepare(folder);
  std::filesystem::create_symlink("/proc/self/fd/1", folder / "stdout");  // like /dev/stdout, which must not be harmed
  const std::string program = std::string("'") + ONEBIT_PROGRAM + "' ";
  for (const char* out : {"stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    for (const Arguments& command : writers(out)) {
      std::string line = program;
      for (const std::string& word : command) line += "'" + word + "' ";
      CAPTURE(line);
      check_refused(run_in(folder, {"bash", "-c", line + "> listing"}), out);
      CHECK(std::filesystem::is_symlink(folder / "stdout"));
    }
  }
}

TEST_CASE("outputs: pictures replace no FIFO") {
  ONEBIT_SKIP_UNLESS(std::system("command -v gnuplot >/dev/null 2>&1") == 0, "gnuplot", "not installed");
  const Folder folder;
  std::filesystem::create_directory(folder / "out");
  REQUIRE(mkfifo((folder / "out/speedup.svg").c_str(), 0600) == 0);
  check_refused(run_onebit(folder, sweep_to("out")), "speedup.svg");
  CHECK(std::filesystem::is_fifo(folder / "out/speedup.svg"));
  REQUIRE(mkfifo((folder / "out/runs.csv").c_str(), 0600) == 0);
  check_refused(run_onebit(folder, tiny_run("compare", {"--optimizers", "adam,sgd", "-o", "out"})), "runs.csv");
}
