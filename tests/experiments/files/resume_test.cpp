// Runs that are interrupted and continued, as a user would do it.

#include <fstream>

#include "sim/log/reader.hpp"
#include "sim/run/checkpoint.hpp"
#include "tests/experiments/files/killed.hpp"
#include "tests/small_disk.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

namespace fs = std::filesystem;

/// Expects one line with all of `needles`, and an unchanged folder.
void check_refused(const Folder& folder, const Arguments& arguments, const std::vector<std::string>& needles,
                   int status = 2) {
  const auto before = entries(folder);
  const std::string log = read_file(folder / "run.h5");
  const Outcome run = run_onebit(folder, arguments);
  CAPTURE(run.err);
  CHECK(run.status == status);
  CHECK_THAT(run.err, StartsWith("onebit: error: "));
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  for (const std::string& needle : needles) CHECK_THAT(run.err, Contains(needle));
  CHECK(entries(folder) == before);
  CHECK(read_file(folder / "run.h5") == log);
}

std::vector<double> losses(const std::string& path) {
  return sim::LogReader(path).column("steps/loss");
}

}  // namespace

TEST_CASE("resume: a run whose tensors are frozen one by one goes on with some of them frozen") {
  const Arguments by_tensor = {"--freeze",           "auto", "--freeze.scope",     "tensor", "--optimizer.beta2", "0.9",
                               "--freeze.lag",       "5",    "--freeze.threshold", "0.9",    "--freeze.dwell",    "2",
                               "--checkpoint.every", "4"};
  const Folder alone, folder;
  CHECK(run_onebit(alone, checkpointing(by_tensor)).status == 0);
  killed_at(folder, "checkpoint.named:4", checkpointing(by_tensor));
  CHECK(run_onebit(folder, checkpointing(joined(by_tensor, {"--resume"}))).status == 0);
  CHECK(losses(folder / "run.h5") == losses(alone / "run.h5"));
  const auto freezes = [](const Folder& of) {
    std::vector<std::string> result;
    const sim::LogReader log(of / "run.h5");
    for (const sim::Event& event : log.events()) {
      if (event.kind.ends_with("freeze")) result.push_back(std::to_string(event.step) + " " + event.text);
    }
    return result;
  };
  CHECK(freezes(alone).size() == 5);  // those of the run and of its tensors
  CHECK(freezes(folder) == freezes(alone));
}

TEST_CASE("resume: without a log the run begins, and a finished one is left as it is") {
  const Folder folder;
  const Outcome first = run_onebit(folder, checkpointing({"--resume"}));
  CHECK(first.status == 0);
  const std::string log = read_file(folder / "run.h5");
  const Outcome second = run_onebit(folder, checkpointing({"--resume", "--threads", "2", "--devices", "cpu"}));
  CHECK(second.status == 0);
  CHECK_THAT(line_of(second.out, "status"), Contains("finished"));
  CHECK(read_file(folder / "run.h5") == log);
}

TEST_CASE("resume: weights that are missing are made although the log is finished") {
  const Folder folder;
  run_onebit(folder, checkpointing({"--weights-out", "first.h5"}));
  const Outcome again = run_onebit(folder, checkpointing({"--resume", "--weights-out", "second.h5"}));
  CHECK(again.status == 0);
  CHECK(read_file(folder / "first.h5").size() > 1000);
  CHECK(sim::LogReader(folder / "run.h5").committed_rows() == 40);
  const Outcome from_both = run_onebit(folder, tiny_run("run", {"--model.init", "second.h5", "-o", "third.h5"}));
  CHECK(from_both.status == 0);
}

TEST_CASE("resume: Ctrl-C writes a checkpoint of the last step, whatever the interval is") {
  const Folder folder;
  Process process(folder / "", onebit_command(checkpointing({"--steps", "100000000", "--log.flush-every", "1",
                                                             "--eval.every", "50", "--checkpoint.every", "0"})));
  REQUIRE(process.poll([&] {
    try {
      return sim::LogReader(folder / "run.h5").committed_rows() >= 20;
    } catch (const Error&) {
      return false;
    }
  }));
  process.send(SIGINT);
  CHECK(process.finish().status == 130);
  const auto checkpoints = sim::checkpoints_of(folder / "run.h5");
  REQUIRE(checkpoints.size() == 1);
  CHECK(checkpoints[0].step == sim::LogReader(folder / "run.h5").committed_rows());
}

TEST_CASE("resume: other options are refused with their list, unless they are named", "[once]") {
  const Folder folder;
  killed_at(folder, "checkpoint.named:3", checkpointing());
  const Arguments changed = checkpointing({"--resume", "--optimizer.lr", "0.5", "--steps", "60"});
  check_refused(folder, changed,
                {"options differ", "optimizer.lr", "in the log, '0.5' now", "steps '40' in the log, '60' now",
                 "resume with the same options, or give --resume.allow steps,optimizer.lr"});
  check_refused(folder, joined(changed, {"--resume.allow", "steps"}), {"optimizer.lr"});
  check_refused(folder, checkpointing({"--resume", "--model.precision", "bf16"}),
                {"model.precision 'fp32' in the log, 'bf16' now"});
  check_refused(folder, joined(changed, {"--resume.allow", "step"}), {"unknown option", "resume.allow step", "steps"});
  check_refused(folder, checkpointing({"--resume.allow", "steps"}), {"resume.allow without resume"});
  check_refused(folder, checkpointing({"--resume", "--overwrite"}), {"both --resume and --overwrite"});
  const Outcome run = run_onebit(folder, joined(changed, {"--resume.allow", "steps,optimizer.lr"}));
  CAPTURE(run.err);
  CHECK(run.status == 0);
  const sim::LogReader log(folder / "run.h5");
  CHECK(log.committed_rows() == 60);
  CHECK(log.column("steps/lr")[29] == 1e-3);
  CHECK(log.column("steps/lr")[30] == 0.5);
}

TEST_CASE("resume: what is allowed to differ still needs a checkpoint, as many workers and enough steps") {
  const Folder folder;
  run_onebit(folder, checkpointing({"--checkpoint.every", "0"}));
  const auto with = [](const Arguments& options, const std::string& allowed) {
    return checkpointing(joined({"--resume", "--resume.allow", allowed}, options));
  };
  check_refused(folder, with({"--optimizer.lr", "0.5"}, "optimizer.lr"), {"only from a checkpoint", "--overwrite"});
  run_onebit(folder, checkpointing({"--overwrite"}));
  const std::string whole = read_file(folder / "run.h5.checkpoint-40");
  fs::remove(folder / "run.h5.checkpoint-30");
  write_file(folder / "run.h5.checkpoint-40", whole.substr(0, whole.size() / 2));
  check_refused(folder, with({"--optimizer.lr", "0.5"}, "optimizer.lr"), {"cannot use checkpoint", "--overwrite"});
  write_file(folder / "run.h5.checkpoint-40", whole);
  check_refused(folder, with({"--workers", "3"}, "workers"), {"a different number of workers", "--workers 2"});
  check_refused(folder, with({"--steps", "35"}, "steps"), {"end before the checkpoint", "checkpoint-40", "--steps 40"});
}

TEST_CASE("resume: events after the checkpoint go with its rows where other options are allowed") {
  const Folder folder;
  const Arguments late = {"--freeze", "fixed:20", "--log.flush-every", "1", "--log.flush", "100"};
  killed_at(folder, "log.flushed:35", checkpointing(joined(late, {"--checkpoint.every", "0"})));
  killed_at(folder, "checkpoint.named:1", checkpointing(joined(late, {"--resume"})));
  const Outcome run =
      run_onebit(folder, checkpointing(joined(late, {"--resume", "--optimizer.lr", "2e-3", "--freeze", "fixed:25",
                                                     "--resume.allow", "optimizer.lr,freeze"})));
  CAPTURE(run.err);
  CHECK(run.status == 0);
  std::vector<Index> freezes;
  const sim::LogReader log(folder / "run.h5");
  for (const sim::Event& event : log.events()) {
    if (event.kind == "freeze") freezes.push_back(event.step);
  }
  CHECK(freezes == std::vector<Index>{25});
  CHECK(log.events().back().kind == "freeze");
  CHECK(std::ranges::count(log.events(), "resume", &sim::Event::kind) == 2);
}

TEST_CASE("resume: a damaged checkpoint is a warning, and the previous one is used") {
  const Folder folder;
  killed_at(folder, "checkpoint.named:3", checkpointing());
  std::string bytes = read_file(folder / "run.h5.checkpoint-30");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_file(folder / "run.h5.checkpoint-30", bytes);
  const Outcome run = run_onebit(folder, checkpointing({"--resume"}));
  CHECK(run.status == 0);
  CHECK_THAT(run.err, StartsWith("onebit: warning: cannot use checkpoint: its checksum does not match its bytes") &&
                          Contains("run.h5.checkpoint-30"));
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK(sim::LogReader(folder / "run.h5").events().back().text.rfind("from step 20", 0) == 0);
  run_onebit(folder, checkpointing({"-o", "whole.h5"}));
  CHECK(losses(folder / "run.h5") == losses(folder / "whole.h5"));
}

TEST_CASE("resume: a disk that fills ends the run with one line and the last checkpoint whole") {
  const SmallDisk disk("3000k");
  ONEBIT_SKIP_UNLESS(disk.mounted(), "tmpfs", "cannot mount a small tmpfs (not root?)");
  const Folder& folder = disk.folder();
  const Arguments wide = checkpointing({"--model.layers", "4,9000,3", "--checkpoint.keep", "9"});
  const Outcome full = run_onebit(folder, wide);
  CAPTURE(full.err);
  CHECK(full.status == 1);
  CHECK_THAT(full.err, StartsWith("onebit: error: cannot write") && Contains("No space left on device"));
  CHECK(std::count(full.err.begin(), full.err.end(), '\n') == 1);
  const auto checkpoints = sim::checkpoints_of(folder / "run.h5");
  REQUIRE(!checkpoints.empty());
  for (const sim::CheckpointFile& file : checkpoints) CHECK_NOTHROW(sim::verify_checkpoint(file.path));
  REQUIRE(disk.resize("20m"));
  CHECK(run_onebit(folder, joined(wide, {"--resume"})).status == 0);
  run_onebit(folder, joined(wide, {"-o", "whole.h5"}));
  CHECK(losses(folder / "run.h5") == losses(folder / "whole.h5"));
}

TEST_CASE("resume: two programs do not write one log") {
  const Folder folder;
  Process process(folder / "", onebit_command(checkpointing({"--steps", "100000000", "--log.flush-every", "1",
                                                             "--eval.every", "50", "--checkpoint.every", "0"})));
  REQUIRE(process.poll([&] { return fs::exists(folder / "run.h5"); }));
  const Outcome second = run_onebit(
      folder, checkpointing({"--steps", "100000000", "--eval.every", "50", "--checkpoint.every", "0", "--resume"}));
  CAPTURE(second.err);
  CHECK(second.status == 2);
  CHECK_THAT(second.err, Contains("another program has it open (run.h5)"));
  process.send(SIGKILL);
  process.finish();
  for (const sim::Event& event : sim::LogReader(folder / "run.h5").events()) CHECK(event.kind == "freeze");
}

TEST_CASE("resume: times of files, set back or ahead, change nothing") {
  const Folder folder;
  killed_at(folder, "checkpoint.named:3", checkpointing());
  fs::last_write_time(folder / "run.h5.checkpoint-20", fs::file_time_type::clock::now() + std::chrono::hours(48));
  fs::last_write_time(folder / "run.h5.checkpoint-30", fs::file_time_type::clock::now() - std::chrono::hours(48000));
  CHECK(run_onebit(folder, checkpointing({"--resume"})).status == 0);
  CHECK(sim::LogReader(folder / "run.h5").events().back().text.rfind("from step 30", 0) == 0);
}

TEST_CASE("resume: a comparison goes on with the runs that are missing") {
  const Folder folder;
  const Arguments compare = tiny_run("compare", {"--freeze", "fixed:2", "--optimizers", "adam,onebit-adam", "--seeds",
                                                 "2", "--log.flush-every", "1", "-o", "out"});
  killed_at(folder, "log.flushed:4", compare);
  const Outcome run = run_onebit(folder, joined(compare, {"--resume"}));
  CAPTURE(run.err);
  CHECK(run.status == 0);
  for (const char* log : {"adam-1", "adam-2", "onebit-adam-1", "onebit-adam-2"}) {
    CHECK(sim::LogReader(folder / ("out/" + std::string(log) + ".h5")).status() == sim::RunStatus::finished);
  }
}

TEST_CASE("resume: a compressed log is a smaller one with the same rows, and can be continued") {
  const Folder folder;
  const Arguments longer = {"--steps", "3000", "--checkpoint.every", "1000"};
  run_onebit(folder, checkpointing(joined(longer, {"-o", "plain.h5"})));
  const Outcome run = run_onebit(folder, checkpointing(joined(longer, {"--log.compression", "4"})));
  CHECK(run.status == 0);
  CHECK(fs::file_size(folder / "run.h5") < fs::file_size(folder / "plain.h5") * 3 / 4);
  CHECK_FALSE(fs::exists(folder / "run.h5.part"));
  CHECK(losses(folder / "run.h5") == losses(folder / "plain.h5"));
  CHECK(sim::LogReader(folder / "run.h5").traffic() == sim::LogReader(folder / "plain.h5").traffic());
  CHECK(sim::LogReader(folder / "run.h5").header().config.size() ==
        sim::LogReader(folder / "plain.h5").header().config.size());
  CHECK(run_onebit(folder, checkpointing(joined(longer, {"--log.compression", "4", "--steps", "3500", "--resume",
                                                         "--resume.allow", "steps"})))
            .status == 0);
  CHECK(losses(folder / "run.h5").size() == 3500);
}

TEST_CASE("resume: what a kill left next to a finished run is removed") {
  const Folder folder;
  REQUIRE(run_onebit(folder, checkpointing({"--checkpoint.keep", "3"})).status == 0);
  write_file(folder / "run.h5.part", "a copy that was being compressed");
  CHECK(run_onebit(folder, checkpointing({"--checkpoint.keep", "2", "--resume"})).status == 0);
  CHECK(entries(folder) ==
        std::set<std::string>{folder / "run.h5", folder / "run.h5.checkpoint-30", folder / "run.h5.checkpoint-40"});
}

TEST_CASE(
    "resume: a run that is killed between a checkpoint and the removal of an older one ends with as many as asked") {
  const Folder folder;
  killed_at(folder, "checkpoint.named:3", checkpointing({"--steps", "35"}));
  CHECK(fs::exists(folder / "run.h5.checkpoint-10"));
  CHECK(run_onebit(folder, checkpointing({"--steps", "35", "--resume"})).status == 0);
  CHECK(entries(folder) ==
        std::set<std::string>{folder / "run.h5", folder / "run.h5.checkpoint-20", folder / "run.h5.checkpoint-30"});
}

TEST_CASE("export: rows come out as CSV and as JSON lines") {
  const Folder folder;
  run_onebit(folder, checkpointing());
  const Outcome csv = run_onebit(folder, {"export", "run.h5", "--csv", "-o", "tables"});
  CHECK(csv.status == 0);
  for (const char* group : {"steps", "workers", "tensors", "evaluations", "events", "traffic"}) {
    CAPTURE(group);
    std::ifstream file(folder / ("tables/" + std::string(group) + ".csv"));
    std::string names, first;
    CHECK((std::getline(file, names) && std::getline(file, first)));
    CHECK(names.rfind("step", 0) == 0);
    if (std::string(group) == "events") continue;  // commas in a text
    CHECK(std::count(names.begin(), names.end(), ',') == std::count(first.begin(), first.end(), ','));
  }
  const Outcome steps = run_onebit(folder, {"export", "run.h5", "--csv", "--group", "steps"});
  CHECK(std::count(steps.out.begin(), steps.out.end(), '\n') == 41);
  CHECK(steps.out == read_file(folder / "tables/steps.csv"));
  const Outcome workers = run_onebit(folder, {"export", "run.h5", "--jsonl", "--group", "workers"});
  CHECK_THAT(workers.out, StartsWith("{\"group\": \"workers\", \"step\": 1, \"worker\": 0, \"loss\": "));
  CHECK(json_value(workers.out, "error_norm") == "null");
  const Outcome events = run_onebit(folder, {"export", "run.h5", "--csv", "--group", "events"});
  CHECK_THAT(events.out, Contains("5,freeze,\"variance frozen after 5 dense updates (freeze fixed:5), "));
  check_refused(folder, {"export", "run.h5"}, {"--csv or --jsonl"});
  check_refused(folder, {"export", "run.h5", "--csv"}, {"-o DIR"});
  check_refused(folder, {"export", "run.h5", "--csv", "--group", "step"}, {"no such group", "steps"});
  check_refused(folder, {"export", "run.h5", "--csv", "-o", "tables"}, {"output exists", "--overwrite"});
  check_refused(folder, {"export", "run.h5", "--jsonl", "-o", "tables", "--overwrite"}, {"not a regular file"});
}

TEST_CASE("export: columns of later versions are exported, or named where they cannot be") {
  const std::string python = find_python("h5py");
  ONEBIT_SKIP_UNLESS(!python.empty(), "h5py", "no python3 with h5py");
  const Folder folder;
  run_onebit(folder, checkpointing());
  const std::string script =
      "import h5py, numpy as n\nwith h5py.File('run.h5', 'r+') as f:\n  rows = len(f['steps/step'])\n"
      "  f['steps/new_number'] = n.arange(rows) * 0.5\n  f['steps/new_text'] = n.array([b'a'] * rows)\n"
      "  f['steps/new_list'] = n.zeros((rows, 3))\n";
  REQUIRE(run_in(folder, {python, "-c", script}).status == 0);
  const Outcome steps = run_onebit(folder, {"export", "run.h5", "--jsonl", "--group", "steps"});
  CHECK(steps.status == 0);
  CHECK(json_value(steps.out, "new_number") == "0");
  CHECK_THAT(steps.out, !Contains("new_text") && !Contains("new_list"));
  CHECK_THAT(steps.err, Contains("warning: an unknown column is not exported") && Contains("run.h5: steps/new_text)") &&
                            Contains("run.h5: steps/new_list)"));
}
