// A disk on which one write fails: nothing is lost without an error.

#include <fstream>

#include "tests/experiments/program.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

namespace {

/// Runs scripts/failing-writes.py on every `every`th write of the cases.
Outcome with_failing_writes(const Folder& folder, const std::string& cases, int every) {
  const NoLeakCheck lasting;  // an aborted write leaves a file open in HDF5 on purpose
  Process process(folder / "",
                  {find_python("h5py"), source_path("scripts/failing-writes.py"), ONEBIT_PROGRAM, ONEBIT_FAILING_WRITES,
                   folder / "work", "--every", std::to_string(every), "--cases", cases});
  return process.finish();
}

void check_none_silent(const std::string& cases, int every) {
  ONEBIT_SKIP_UNLESS(!find_python("h5py").empty(), "h5py", "no python3 with h5py");
  const Folder folder;
  const Outcome run = with_failing_writes(folder, cases, every);
  CAPTURE(run.out, run.err);
  CHECK(run.status == 0);
  CHECK_THAT(run.out, EndsWith(" 0 silent\n") && Contains(" reported") && !Contains(" 0 reported"));
}

}  // namespace

TEST_CASE("failing writes: no write of a run fails in silence") {
  check_none_silent("run", 19);
}

TEST_CASE("failing writes: no write of a log that is compressed fails in silence", "[once]") {
  check_none_silent("compressed", 29);
}

TEST_CASE("failing writes: no write of a resumed run fails in silence", "[once]") {
  check_none_silent("resume", 11);
}

TEST_CASE("failing writes: no write of a sweep fails in silence", "[once]") {
  check_none_silent("sweep", 67);
}

TEST_CASE("failing writes: no write of a replay or an export fails in silence", "[once]") {
  check_none_silent("replay,text", 1);
}

TEST_CASE("failing writes: every second one of everything that writes", "[.long]") {
  ONEBIT_SKIP_UNLESS(!find_python("h5py").empty(), "h5py", "no python3 with h5py");
  check_none_silent("run,compressed,resume,sweep,replay,text", 2);
}
