// Files that are dangerous for HDF5, because of damage or because their author wanted it: each gives at most a one-line
// error message, without a long wait.

#include <sys/stat.h>

#include <algorithm>

#include "sim/log/h5.hpp"
#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

using sim::h5::Id;

const Arguments kReplay = {"replay", "trace.h5", "--optimizer", "adam", "-o", "params.h5"};

/// A file that keeps whoever reads it waiting: one of its names stands for an object in another file, and that is a
/// pipe to which nobody writes.
void write_endless(const Folder& folder) {
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const Id file(H5Fcreate((folder / "trace.h5").c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  REQUIRE(H5Lcreate_external("pipe", "/", file.get(), "elsewhere", H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

/// Whether a process that checks a file in this folder is running.
bool reader_is_running(const Folder& folder) {
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    const std::string words = line_of_process(process.path() / "cmdline");
    if (words.find("--read-for-parent") != words.npos && words.find(folder / "trace.h5") != words.npos) return true;
  }
  return false;
}

/// Sends a signal to a command that waits for its reader. Expects that both end.
void check_both_end(int signal) {
  const Folder folder;
  write_endless(folder);
  Process process(folder / "", onebit_command(kReplay));
  REQUIRE(process.poll([&] { return reader_is_running(folder); }));
  process.send(signal);
  const Outcome run = process.finish();
  CHECK(run.status == 128 + signal);
  CHECK(run.err.empty());
  for (int i = 0; i < 1000 && reader_is_running(folder); ++i) usleep(3000);
  CHECK(!reader_is_running(folder));
}

/// Runs scripts/damaged-files.py.
void check_none_bad(const std::string& cases, int count) {
  ONEBIT_SKIP_UNLESS(!find_python("h5py").empty(), "h5py", "no python3 with h5py");
  const Folder folder;
  Process process(folder / "", {find_python("h5py"), source_path("scripts/damaged-files.py"), ONEBIT_PROGRAM,
                                folder / "work", "--count", std::to_string(count), "--cases", cases});
  const Outcome run = process.finish();
  CAPTURE(run.out, run.err);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, EndsWith(" 0 bad\n") && Contains(" refused"));
}

}  // namespace

TEST_CASE("damaged files: a file that HDF5 cannot list gives a one-line error message") {
  const Folder folder;
  {
    const Id file(H5Fcreate((folder / "trace.h5").c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const Id group(H5Gcreate2(file.get(), "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  }
  std::string bytes = read_file(folder / "trace.h5");
  bytes.at(bytes.find("SNOD")) = 'X';
  write_file(folder / "trace.h5", bytes);
  const Outcome run = run_onebit(folder, kReplay);
  CHECK(run.status == 2);
  CHECK(run.err ==
        "onebit: error: cannot read gradient trace: HDF5 cannot list what it contains (trace.h5); the file may be "
        "damaged: "
        "restore it from a copy, or make it again\n");
}

TEST_CASE("damaged files: the process that checks a file reads only for its parent") {
  const Folder folder;
  const Outcome run = run_onebit(folder, {"--read-for-parent", "1", "0", "trace.h5"});
  CHECK(run.status == 1);
  CHECK(run.out + run.err == "");
}

TEST_CASE("damaged files: Ctrl-C ends a command and its reader at once", "[once]") {
  check_both_end(SIGINT);
}

TEST_CASE("damaged files: the reader of a killed command ends", "[once]") {
  check_both_end(SIGKILL);
}

TEST_CASE("damaged files: a file that keeps its reader waiting is refused", "[.long]") {
  const Folder folder;
  write_endless(folder);
  const Outcome run = run_onebit(folder, kReplay);
  CHECK(run.status == 2);
  CHECK_THAT(run.err,
             StartsWith("onebit: error: cannot read gradient trace: HDF5 did not finish reading it within 15 s "
                        "(trace.h5); the file may be damaged"));
}

TEST_CASE("damaged files: none of a small sample ends a command by a signal, or takes long", "[once]") {
  check_none_bad("packed,new-log,new-trace,checkpoint", 8);
}

TEST_CASE("damaged files: none of a large sample ends a command by a signal, or takes long", "[.long]") {
  check_none_bad("log,old-log,live,trace,weights,old-weights,resumed-log", 150);
}
