// Failing disks, failing system calls and kills at every moment: nothing is lost, and nothing is silently wrong.
// docs/promises.md lists what these tests hold.

#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

namespace {

/// Runs a script of scripts/faults on the program, with a folder to work in.
Outcome run_script(const std::string& script, const Arguments& more) {
  const NoLeakCheck lasting;  // an aborted write leaves a file open in HDF5 on purpose
  const Folder folder;
  Process process(folder / "", joined({find_python("h5py"), source_path("scripts/faults/" + script), ONEBIT_PROGRAM,
                                       ONEBIT_INJECTOR, folder / "work"},
                                      more));
  process.poll([&] { return !process.running(); }, std::chrono::hours(3));
  return process.finish();
}

/// Disturbs `most` calls of every kind.
void check_none_silent(const std::string& cases, const std::string& faults, int most) {
  ONEBIT_SKIP_UNLESS(!find_python("h5py").empty(), "h5py", "no python3 with h5py");
  Arguments more = {"--cases", cases, "--most", std::to_string(most)};
  if (!faults.empty()) more = joined(more, {"--faults", faults});
  const Outcome run = run_script("walk.py", more);
  CAPTURE(run.out, run.err);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, EndsWith(" 0 silent\n"));
}

void check_kills(int kills) {
  ONEBIT_SKIP_UNLESS(!find_python("h5py").empty(), "h5py", "no python3 with h5py");
  const Outcome run = run_script("torture.py", {"--kills", std::to_string(kills)});
  CAPTURE(run.out, run.err);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("kills " + std::to_string(kills) + ": ") &&
                          Contains("0 unreadable, 0 not resumable, 0 other bits"));
}

}  // namespace

TEST_CASE("faults: no write of a run fails silently", "[once]") {
  check_none_silent("run", "write=EIO+ENOSPC+EINTR+short+kill+tear", 5);
}

TEST_CASE("faults: no call of a run that is resumed and compressed fails silently", "[once]") {
  check_none_silent("resume,compressed", "", 3);
}

TEST_CASE("faults: no call of a sweep or a comparison fails silently", "[once]") {
  check_none_silent("sweep,compare", "write=EIO+kill,sync=EIO,rename=EIO+kill,read=EIO,open=EMFILE,alloc=ENOMEM", 3);
}

TEST_CASE("faults: no call of a replay, an export or a report fails silently", "[once]") {
  check_none_silent("replay,logged,text,report",
                    "write=EIO+kill+short,sync=EIO,rename=EIO+kill,read=EIO+short,open=EMFILE", 4);
}

TEST_CASE("faults: what is killed at any moment continues with the same bits", "[once]") {
  check_kills(40);
}

TEST_CASE("faults: up to 300 calls of every kind of every command", "[.long]") {
  check_none_silent("run,compressed,resume,sweep,compare,replay,text,report", "", 300);
}

TEST_CASE("faults: a thousand kills", "[.long]") {
  check_kills(1000);
}
