// Runs that are continued with the options in their logs.

#include "sim/log/h5.hpp"
#include "sim/log/reader.hpp"
#include "tests/experiments/files/killed.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

namespace fs = std::filesystem;

const Arguments kBare = {"run", "--resume", "-o", "run.h5"};

std::vector<double> losses(const std::string& path) {
  return sim::LogReader(path).column("steps/loss");
}

std::vector<float> weights(const std::string& path) {
  const sim::h5::Object file = sim::h5::open_file(path, false);
  const sim::h5::Object dataset = sim::h5::open_dataset(file, "weights");
  std::vector<float> values(sim::h5::extents(dataset)[0]);
  sim::h5::read_rows(dataset, H5T_NATIVE_FLOAT, values, std::ssize(values));
  return values;
}

void check_refused(const Folder& folder, const Arguments& arguments, const std::string& message) {
  const auto before = entries(folder);
  const Outcome run = run_onebit(folder, arguments);
  CAPTURE(run.err);
  CHECK(run.status == 2);
  CHECK_THAT(run.err, StartsWith("onebit: error: " + message));
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK(entries(folder) == before);
}

}  // namespace

TEST_CASE("resume: without other options a run goes on with those of its log, and with the same bits") {
  const Folder alone, folder;
  const Arguments options = {"--optimizer.lr", "2e-3", "--seed", "7", "--eval.every", "8", "--weights-out", "w.h5"};
  REQUIRE(run_onebit(alone, checkpointing(options)).status == 0);
  killed_at(folder, "checkpoint.named:3", checkpointing(options));
  const Outcome run = run_onebit(folder, kBare);
  CAPTURE(run.err);
  CHECK(run.status == 0);
  CHECK_THAT(run.err,
             StartsWith("onebit: continuing run.h5 from its checkpoint at step 30 with options from the log: ") &&
                 Contains(" --model mlp") && Contains(" --optimizer.lr 0.002") && Contains(" --seed 7") &&
                 Contains(" --steps 40") && Contains(" --weights-out w.h5\n"));
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK(losses(folder / "run.h5") == losses(alone / "run.h5"));
  CHECK(sim::LogReader(folder / "run.h5").evaluations().size() ==
        sim::LogReader(alone / "run.h5").evaluations().size());
  CHECK(weights(folder / "w.h5") == weights(alone / "w.h5"));
}

TEST_CASE("resume: with the log's options, no weights are replaced that the run cannot have written", "[once]") {
  const Folder folder;
  killed_at(folder, "checkpoint.named:2", checkpointing({"--weights-out", "w.h5"}));
  write_file(folder / "w.h5", "of another run");
  const Outcome run = run_onebit(folder, kBare);
  CHECK(run.status == 2);
  CHECK_THAT(run.err, Contains("the weights file named in the log already exists (w.h5)"));
  CHECK(read_file(folder / "w.h5") == "of another run");
  CHECK(run_onebit(folder, joined(kBare, {"--weights-out", "w.h5"})).status == 0);
}

TEST_CASE("resume: with the log's options a finished or diverged run has nothing left to do", "[once]") {
  const Folder folder;
  REQUIRE(run_onebit(folder, checkpointing({"--weights-out", "w.h5"})).status == 0);
  fs::remove(folder / "w.h5");
  const auto before = entries(folder);
  const Outcome run = run_onebit(folder, kBare);
  CHECK(run.status == 0);
  CHECK(run.err == "onebit: nothing to do: the run of run.h5 is finished\n");
  CHECK_THAT(line_of(run.out, "status"), Contains("finished"));
  CHECK(entries(folder) == before);
  run_onebit(folder, checkpointing({"--overwrite", "--optimizer", "sgd", "--optimizer.lr", "1e38"}));
  const Outcome diverged = run_onebit(folder, kBare);
  CHECK(diverged.status == 1);
  CHECK_THAT(diverged.err, StartsWith("onebit: nothing to do: the run of run.h5 diverged\n"));
}

TEST_CASE("resume: a run without a checkpoint goes on from step 0 with the options of its log") {
  const Folder folder;
  killed_at(folder, "log.flushed:2", checkpointing({"--checkpoint.every", "0", "--log.flush-every", "3"}));
  const Outcome run = run_onebit(folder, kBare);
  CAPTURE(run.err);
  CHECK(run.status == 0);
  CHECK_THAT(run.err, StartsWith("onebit: continuing run.h5 from step 0, because it has no checkpoint, with options"));
  CHECK(losses(folder / "run.h5").size() == 40);
}

TEST_CASE("resume: without a log there is nothing to take options from") {
  const Folder folder;
  check_refused(folder, kBare, "there is no log to continue (run.h5); ");
  write_file(folder / "run.h5", "no log");
  check_refused(folder, kBare, "cannot read log: ");
}

TEST_CASE("resume: options that are given override those of the log, where that is allowed", "[once]") {
  const Folder folder;
  REQUIRE(run_onebit(folder, checkpointing()).status == 0);
  check_refused(folder, joined(kBare, {"--steps", "60"}), "options differ from those of the log: steps '40'");
  const Outcome threads = run_onebit(folder, joined(kBare, {"--threads", "2"}));
  CHECK(threads.status == 0);
  CHECK_THAT(threads.err, StartsWith("onebit: nothing to do"));
  const Arguments longer = joined(kBare, {"--steps", "60", "--resume.allow", "steps"});
  killed_at(folder, "checkpoint.named:1", longer);
  check_refused(folder, kBare,
                "the run was continued with another steps, which the log's header does not record (run.h5)");
  const Outcome run = run_onebit(folder, longer);
  CAPTURE(run.err);
  CHECK(run.status == 0);
  CHECK_THAT(run.err, Contains("from its checkpoint at step 50 ") && !Contains("--steps"));
  CHECK(losses(folder / "run.h5").size() == 60);
  CHECK(run_onebit(folder, kBare).err == "onebit: nothing to do: the run of run.h5 is finished\n");
}

TEST_CASE("resume: a log does not tell which options a long command changed, but that a long command changed none",
          "[once]") {
  const Folder folder;
  const std::string zeros(200, '0');
  const Arguments same = {"--log.flush", "100." + zeros, "--resume"};
  killed_at(folder, "checkpoint.named:1", checkpointing());
  killed_at(folder, "checkpoint.named:1", checkpointing(same));
  killed_at(folder, "checkpoint.named:1", kBare);
  const Arguments changed = joined(same, {"--steps", "60", "--resume.allow", "steps"});
  killed_at(folder, "checkpoint.named:1", checkpointing(changed));
  check_refused(folder, kBare,
                "the log does not record which options were changed when the run was continued (run.h5)");
  CHECK(run_onebit(folder, checkpointing(changed)).status == 0);
}

TEST_CASE("resume: with --json the object is all that is printed, and the log's options are named on stderr") {
  const Folder folder;
  killed_at(folder, "checkpoint.named:3", checkpointing());
  const Outcome run = run_onebit(folder, joined(kBare, {"--json"}));
  CHECK(run.status == 0);
  CHECK_THAT(run.out, StartsWith("{"));
  CHECK_THAT(run.err, StartsWith("onebit: continuing run.h5"));
}

TEST_CASE("resume: the file for the weights is known even if a file of options named it") {
  const Folder folder;
  write_file(folder / "weights.ini", "weights-out = w.h5\n");
  killed_at(folder, "checkpoint.named:2", checkpointing({"--config", "weights.ini"}));
  const Outcome run = run_onebit(folder, kBare);
  CAPTURE(run.err);
  CHECK(run.status == 0);
  CHECK_THAT(run.err, Contains(" --weights-out w.h5\n"));
  CHECK(fs::exists(folder / "w.h5"));
}
