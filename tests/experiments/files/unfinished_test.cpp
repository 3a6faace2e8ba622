// Runs that did not finish: what `inspect` says about them, and what `run --resume` suggests.

#include <fstream>

#include "sim/log/h5.hpp"
#include "sim/log/reader.hpp"
#include "sim/log/writer.hpp"
#include "tests/experiments/files/killed.hpp"
#include "tests/small_disk.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

namespace fs = std::filesystem;

std::string status_of(const Folder& folder, const std::string& log = "run.h5") {
  const Outcome run = run_onebit(folder, {"inspect", log});
  CAPTURE(run.err);
  CHECK(run.status == 0);
  const std::string line = line_of(run.out, "status");
  return line.substr(std::min(line.find_first_not_of(' ', 6), line.size()));
}

/// Runs the command between backquotes in a shell, as a user would.
int run_pasted(const Folder& folder, const std::string& text) {
  const std::size_t begin = text.find('`') + 1, end = text.find('`', begin);
  REQUIRE(begin != 0);
  REQUIRE(end != std::string::npos);
  const std::string command = text.substr(begin, end - begin);
  REQUIRE_THAT(command, StartsWith("onebit run "));
  CAPTURE(command);
  const Outcome run = run_in(folder, {"sh", "-c", ONEBIT_PROGRAM + command.substr(6)});
  CAPTURE(run.err);
  return run.status;
}

}  // namespace

TEST_CASE("inspect: a killed run is interrupted, and the printed command continues it") {
  const Folder folder;
  fs::create_directory(folder / "it's here");
  const std::string log = "it's here/run 1.h5";
  killed_at(folder, "checkpoint.named:3",
            checkpointing({"-o", log, "--log.flush-every", "3", "--weights-out", "w.h5"}));
  const std::string status = status_of(folder, log);
  CHECK_THAT(status,
             StartsWith("interrupted at step 30; the newest checkpoint is from step 30; continue with `onebit run "));
  CHECK(run_pasted(folder, status) == 0);
  CHECK(status_of(folder, log) == "finished");
  CHECK(sim::LogReader(folder / log).committed_rows() == 40);
  CHECK(fs::exists(folder / "w.h5"));
}

TEST_CASE("inspect: the command fits every optimizer, codec and model", "[once]") {
  const std::vector<Arguments> kinds = {
      {"--optimizer", "ef-momentum-sgd", "--codec", "power-sgd", "--codec.rank", "2"},
      {"--optimizer", "onebit-lamb", "--optimizer.beta2", "0.98", "--freeze", "fixed:5", "--feedback.dtype", "bf16"},
      {"--optimizer", "local-sgd", "--model.layers", "4,7,3"},
      {"--optimizer", "ef21-sgdm"},
      {"--optimizer", "zeroone-adam"}};
  for (const Arguments& kind : kinds) {
    CAPTURE(kind);
    const Folder folder;
    const Arguments command =
        tiny_run("run", joined({"--steps", "40", "--checkpoint.every", "10", "-o", "run.h5"}, kind));
    killed_at(folder, "checkpoint.named:2", command);
    CHECK(run_pasted(folder, status_of(folder)) == 0);
    CHECK(status_of(folder) == "finished");
  }
}

TEST_CASE("inspect: without a checkpoint it says so") {
  const Folder folder;
  killed_at(folder, "log.flushed:2", checkpointing({"--checkpoint.every", "0", "--log.flush-every", "3"}));
  const std::string status = status_of(folder);
  CHECK_THAT(status, StartsWith("interrupted at step 3; there is no checkpoint"));
  CHECK(run_pasted(folder, status) == 0);
}

TEST_CASE("inspect: a run that goes on is running", "[once]") {
  const Folder folder;
  Process process(folder / "", onebit_command(checkpointing({"--steps", "100000000", "--log.flush-every", "1"})));
  REQUIRE(process.poll([&] { return fs::exists(folder / "run.h5.checkpoint-10"); }));
  CHECK(status_of(folder) == "running");
  process.send(SIGSTOP);
  CHECK(status_of(folder) == "running");
  CHECK_THAT(run_onebit(folder, {"inspect", "run.h5", "--json"}).out, Contains("\"status\": \"running\""));
  process.send(SIGKILL);
  process.finish();
  CHECK_THAT(status_of(folder), StartsWith("interrupted at step "));
  const std::string json = run_onebit(folder, {"inspect", "run.h5", "--json"}).out;
  CHECK_THAT(json, Contains("\"status\": \"interrupted\"") && Contains("\"resume\": \"onebit run "));
}

TEST_CASE("inspect: a run on another machine is running, or interrupted") {
  const Folder folder;
  sim::LogHeader header = sample_header();
  header.host = "elsewhere";
  sim::LogWriter* const writer = new sim::LogWriter(folder / "live.h5", header, false);
  append_samples(*writer, 1, 10);
  writer->flush();
  CHECK(status_of(folder, "live.h5") == "running");
  fs::copy(folder / "live.h5", folder / "run.h5");  // as it is seen without the lock
  CHECK_THAT(status_of(folder), StartsWith("running on elsewhere or interrupted at step 9 ("));
  delete writer;
}

TEST_CASE("inspect: a run that a full disk ended is interrupted") {
  const SmallDisk disk("700k");
  ONEBIT_SKIP_UNLESS(disk.mounted(), "tmpfs", "cannot mount a small tmpfs (not root?)");
  const Outcome full = run_onebit(disk.folder(), checkpointing({"--steps", "100000", "--checkpoint.every", "0"}));
  CHECK(full.status == 1);
  CHECK_THAT(status_of(disk.folder()), StartsWith("interrupted at step "));
}

TEST_CASE("resume: options that were left out are not suggested to differ", "[once]") {
  const Folder folder;
  killed_at(folder, "checkpoint.named:2", checkpointing());
  const Outcome longer = run_onebit(folder, {"run", "-o", "run.h5", "--resume", "--steps", "60"});
  CAPTURE(longer.err);
  CHECK(longer.status == 2);
  CHECK_THAT(longer.err, Contains("options differ from those of the log: steps '40' in the log, '60' now (run.h5); "
                                  "resume with the same options, or give --resume.allow steps\n"));
  CHECK(std::count(longer.err.begin(), longer.err.end(), '\n') == 1);
  const Outcome other = run_onebit(folder, {"run", "-o", "run.h5", "--resume", "--model", "softmax"});
  CAPTURE(other.err);
  CHECK(other.status == 2);
  CHECK_THAT(other.err, Contains("continue the run with `onebit run --") && !Contains("resume.allow"));
  CHECK(run_pasted(folder, other.err) == 0);
  const Outcome model = run_onebit(folder, checkpointing({"--resume", "--model.layers", "4,6,3"}));
  CHECK_THAT(model.err, Contains("continue the run with `onebit run --") && !Contains("resume.allow"));
}
