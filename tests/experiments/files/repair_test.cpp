// Logs that cannot be read whole: what is in them is shown, and a checkpoint is enough to go on.

#include <hdf5.h>

#include <algorithm>
#include <bit>
#include <fstream>

#include "sim/run/checkpoint.hpp"
#include "tests/experiments/files/killed.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

namespace fs = std::filesystem;

/// Place of the header of an object in a file, whose checksum covers every byte.
std::size_t place_of(const std::string& path, const std::string& object) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT);
  H5O_info_t info;
  REQUIRE(H5Oget_info_by_name2(file, object.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) >= 0);
  H5Fclose(file);
  return static_cast<std::size_t>(info.addr);
}

/// Changes a byte in the header of an object, as a torn write would.
void damage(const std::string& path, const std::string& object) {
  std::string bytes = read_file(path);
  char& byte = bytes[place_of(path, object) + 20];
  byte = static_cast<char>(byte ^ 1);
  write_file(path, bytes);
}

Arguments with_tensors(const Arguments& more = {}) {
  return checkpointing(joined({"--log.tensors-every", "1", "--log.flush-every", "2"}, more));
}

std::vector<double> column(const std::string& path, const std::string& name) {
  return sim::LogReader(path).column(name);
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b,
                            [](double x, double y) { return std::bit_cast<Index>(x) == std::bit_cast<Index>(y); });
}

/// Runs with a limit on the size of files, whose signal is ignored, as under a batch system.
Outcome with_file_limit(const Folder& folder, Index kilobytes, const Arguments& arguments) {
  const std::string script = "trap '' XFSZ; ulimit -f " + std::to_string(kilobytes) + "; exec \"$@\"";
  return run_in(folder, joined({"bash", "-c", script, "bash"}, onebit_command(arguments)));
}

}  // namespace

TEST_CASE("repair: a log with a torn column is shown, and continues from its checkpoint without that column") {
  const NoLeakCheck leaks;  // HDF5 itself leaks memory on damaged files
  const Folder folder;
  run_onebit(folder, with_tensors({"-o", "whole.h5"}));
  killed_at(folder, "checkpoint.named:3", with_tensors());
  damage(folder / "run.h5", "tensors/momentum_l2");

  const Outcome shown = run_onebit(folder, {"inspect", "run.h5"});
  CAPTURE(shown.out, shown.err);
  CHECK(shown.status == 0);
  CHECK_THAT(line_of(shown.out, "status"),
             Contains("interrupted at step 30") && Contains("checkpoint is from step 30"));
  CHECK_THAT(line_of(shown.out, "damaged"), Contains("run.h5: /tensors/momentum_l2"));
  const Outcome json = run_onebit(folder, {"inspect", "run.h5", "--json"});
  CHECK_THAT(json.out, Contains("\"damaged\": [\"tensors/momentum_l2\"]"));
  CHECK(run_onebit(folder, {"analyze", "run.h5"}).status == 2);  // a result must not rest on a part

  const Outcome resumed = run_onebit(folder, with_tensors({"--resume"}));
  CAPTURE(resumed.err);
  CHECK(resumed.status == 0);
  CHECK_THAT(resumed.err, StartsWith("onebit: warning: the log was damaged: rows after step 30") &&
                              Contains("NaN up to that step: tensors/momentum_l2") && Contains("run.h5.damaged") &&
                              !Contains("run again"));
  CHECK(std::count(resumed.err.begin(), resumed.err.end(), '\n') == 1);
  for (const char* name : {"steps/loss", "tensors/variance_l2", "workers/error_norm", "steps/masked"}) {
    CAPTURE(name);
    CHECK(same_bits(column(folder / "run.h5", name), column(folder / "whole.h5", name)));
  }
  const std::vector<double> lost = column(folder / "run.h5", "tensors/momentum_l2"),
                            whole = column(folder / "whole.h5", "tensors/momentum_l2");
  REQUIRE(lost.size() == whole.size());
  const std::size_t tensors = lost.size() / 40;
  CHECK(std::all_of(lost.begin(), lost.begin() + static_cast<long>(30 * tensors), [](double x) { return x != x; }));
  CHECK(std::equal(lost.begin() + static_cast<long>(30 * tensors), lost.end(),
                   whole.begin() + static_cast<long>(30 * tensors)));
  CHECK(std::ranges::count(sim::LogReader(folder / "run.h5").events(), "repair", &sim::Event::kind) == 1);
  CHECK(fs::exists(folder / "run.h5.damaged"));

  // The finished log is damaged, too: both damaged logs are kept.
  damage(folder / "run.h5", "tensors/variance_l2");
  const Outcome again = run_onebit(folder, with_tensors({"--resume"}));
  CAPTURE(again.err);
  CHECK(again.status == 0);
  CHECK_THAT(again.err, Contains("the damaged log is run.h5.damaged-2"));
  CHECK(same_bits(column(folder / "run.h5", "steps/loss"), column(folder / "whole.h5", "steps/loss")));
  for (const std::string& name : entries(folder)) CHECK_THAT(name, !EndsWith(".part"));
}

TEST_CASE("repair: a program without standard streams does not write to its own log") {
  const Folder folder;
  for (const char* closed : {">&-", "2>&-", "<&- >&- 2>&-"}) {
    const Outcome run = run_in(folder, joined({"bash", "-c", "exec \"$@\" " + std::string(closed), "bash"},
                                              onebit_command(checkpointing({"--overwrite", "--progress"}))));
    CAPTURE(closed, run.err);
    CHECK(sim::LogReader(folder / "run.h5").status() == sim::RunStatus::finished);
  }
}

TEST_CASE("repair: without a checkpoint, or without the steps, a damaged log is refused as before") {
  const NoLeakCheck leaks;  // HDF5 itself leaks memory on damaged files
  const Folder folder;
  killed_at(folder, "log.counts:30", with_tensors({"--checkpoint.every", "0"}));
  damage(folder / "run.h5", "tensors/momentum_l2");
  const std::string before = read_file(folder / "run.h5");
  const Outcome none = run_onebit(folder, with_tensors({"--checkpoint.every", "0", "--resume"}));
  CAPTURE(none.err);
  CHECK(none.status == 2);
  CHECK_THAT(none.err, StartsWith("onebit: error: cannot read log") && Contains("/tensors/momentum_l2"));
  CHECK(read_file(folder / "run.h5") == before);

  const Folder other;
  killed_at(other, "checkpoint.named:3", with_tensors());
  damage(other / "run.h5", "steps/step");
  const Outcome steps = run_onebit(other, with_tensors({"--resume"}));
  CAPTURE(steps.err);
  CHECK(steps.status == 2);
  CHECK_THAT(steps.err, Contains("/steps/step"));
  CHECK_FALSE(fs::exists(other / "run.h5.damaged"));
}

TEST_CASE("repair: a log that reached a limit on the size of files is read and continued") {
  const NoLeakCheck leaks;  // HDF5 itself leaks memory on damaged files
  const Folder folder;
  const Arguments longer = {"--steps", "1500", "--checkpoint.every", "500", "--log.flush-every", "10"};
  run_onebit(folder, with_tensors(joined(longer, {"-o", "whole.h5"})));
  const auto size = static_cast<Index>(fs::file_size(folder / "whole.h5") / 1024);
  const Outcome full = with_file_limit(folder, size - 60, with_tensors(longer));
  CAPTURE(full.err, size);
  CHECK(full.status == 1);
  CHECK_THAT(full.err, StartsWith("onebit: error: cannot write log: File too large (run.h5"));
  const Outcome shown = run_onebit(folder, {"inspect", "run.h5"});
  CAPTURE(shown.out, shown.err);
  CHECK(shown.status == 0);
  CHECK_THAT(shown.out, Contains("interrupted at step "));
  CHECK_THAT(line_of(shown.out, "damaged"), !Contains("run.h5"));
  const Index rows = sim::LogReader(folder / "run.h5").committed_rows();
  CHECK(rows >= 500);
  const Outcome resumed = run_onebit(folder, with_tensors(joined(longer, {"--resume"})));
  CAPTURE(resumed.err);
  CHECK(resumed.status == 0);
  for (const char* name : {"steps/loss", "tensors/momentum_l2"}) {
    CHECK(same_bits(column(folder / "run.h5", name), column(folder / "whole.h5", name)));
  }
}

TEST_CASE("repair: a live log that was cut off in a copy is refused if committed rows are missing") {
  const NoLeakCheck leaks;  // HDF5 itself leaks memory on damaged files
  const Folder folder;
  killed_at(folder, "checkpoint.named:3", with_tensors());
  fs::copy_file(folder / "run.h5", folder / "cut.h5");
  fs::resize_file(folder / "cut.h5", fs::file_size(folder / "cut.h5") / 2);
  const Outcome run = run_onebit(folder, {"analyze", "cut.h5"});
  CAPTURE(run.err);
  CHECK(run.status == 2);
  CHECK_THAT(run.err, Contains("cannot read log"));
}
