// Kills, full disks, damaged files and clashing writers: what was committed survives, and everything else gives a
// one-line error message.

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <random>

#include "device/base/error.hpp"
#include "sim/log/h5.hpp"
#include "tests/catch.hpp"
#include "tests/sim/log/log_fixture.hpp"
#include "tests/small_disk.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

/// A child process. It ends when `work` returns (with that status) or when it is killed.
class Child {
 public:
  explicit Child(const std::function<int()>& work) {
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    try {
      std::exit(work());  // with HDF5's own handlers, as in a real program
    } catch (...) {
      _exit(99);
    }
  }
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int wait() {
    int status = 0;
    waitpid(std::exchange(pid_, 0), &status, 0);
    return status;
  }
  int kill() { return pid_ > 0 ? (::kill(pid_, SIGKILL), wait()) : 0; }

 private:
  pid_t pid_ = 0;
};

void wait_for(const std::string& path) {
  for (int i = 0; i < 10'000 && !std::filesystem::exists(path); ++i) usleep(1000);
}

/// Writes steps and traffic forever, with a flush every 50 steps; creates `ready` after the first ones.
int write_for_ever(const std::string& path, const std::string& ready) {
  LogWriter log(path, sample_header(), false);
  for (Index step = 0;; step += 50) {
    append_samples(log, step, step + 50);
    log.append(step, {netmodel::Traffic{}});
    log.append(WorkerRow{step, {1, 2, 3}, {4, 5, 6}});
    log.flush();
    if (step == 50) write_file(ready, "");
  }
}

/// Returns a log whose writer was killed after a flush; always the same bytes.
void write_killed(const std::string& path) {
  Child child([&] {
    LogWriter log(path, sample_header(), false);
    append_samples(log, 0, 1500);
    log.append(0, {netmodel::Traffic{}});
    log.flush();
    append_samples(log, 1500, 1600);
    return raise(SIGKILL);
  });
  CHECK(WTERMSIG(child.wait()) == SIGKILL);
}

void write_closed(const std::string& path) {
  LogWriter log(path, sample_header(), false);
  append_samples(log, 0, 60);
  log.append(WorkerRow{0, {1, 2, 3}, {4, 5, 6}});
  log.append(0, {netmodel::Traffic{}});
  log.append(Event{1, "freeze", "text"});
  log.close(RunStatus::finished);
}

/// Reads everything that a log holds.
void read_everything(const std::string& path) {
  const LogReader log(path);
  log.steps();
  log.workers();
  log.tensors();
  log.evaluations();
  log.events();
  log.traffic();
}

/// Whether reading succeeds or ends in one of our errors, with one line.
bool reads_or_complains(const std::string& path) {
  try {
    read_everything(path);
  } catch (const Error& error) {
    const std::string text = error.what();
    return text.find('\n') == text.npos && text.find(path) != text.npos;
  }
  return true;
}

bool complains(const std::string& path) {
  try {
    read_everything(path);
  } catch (const ConfigError&) {
    return true;
  }
  return false;
}

/// Changes a finished log through plain HDF5.
void edit(const std::string& path, const std::function<void(hid_t)>& change) {
  const h5::Id file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
  REQUIRE(file.get() >= 0);
  change(file.get());
}

void set_count(hid_t file, const char* name, Index count) {
  const h5::Id dataset(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose);
  REQUIRE(H5Dwrite(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &count) >= 0);
}

void set_version(hid_t file, Index version) {
  const h5::Id attribute(H5Aopen(file, "format_version", H5P_DEFAULT), H5Aclose);
  REQUIRE(H5Awrite(attribute.get(), H5T_NATIVE_INT64, &version) >= 0);
}

}  // namespace

TEST_CASE("log: a killed run keeps what was flushed") {
  const Folder folder;
  const std::string path = folder / "run.h5";
  write_killed(path);
  const LogReader log(path);
  CHECK(intact_samples(log) == 1500);
  CHECK(log.status() == RunStatus::running);
  CHECK_FALSE(log.closed());
  CHECK(log.header() == sample_header());
}

TEST_CASE("log: Python reads a killed and a truncated log") {
  const Python python;
  ONEBIT_SKIP_UNLESS(python.available(), "h5py", "no python3 with h5py");
  const Folder folder;
  const std::string path = folder / "run.h5";
  Child child([&] { return write_for_ever(path, folder / "ready"); });
  wait_for(folder / "ready");
  const char* script = R"(
import numpy, onebit.logs
log = onebit.logs.Log(sys.argv[1])
assert log.status == 'running' and log.steps.rows >= 100 and log.steps.rows % 50 == 0
assert (log.steps['loss'] == 1 / numpy.arange(1, log.steps.rows + 1)).all()
assert len(log.traffic) >= 2 and log.workers['loss'][-1].tolist() == [1, 2, 3]
)";
  CHECK(python.run(script, path) == 0);  // while the run goes on
  child.kill();
  CHECK(python.run(script, path) == 0);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  CHECK(python.run("import onebit.logs; onebit.logs.Log(sys.argv[1])", path + "' 2>/dev/null '") != 0);
}

TEST_CASE("log: a live run can be read at any moment, and killed at any moment") {
  for (int round = 0; round < 5; ++round) {
    const Folder folder;
    const std::string path = folder / "run.h5";
    Child child([&] { return write_for_ever(path, folder / "ready"); });
    wait_for(folder / "ready");
    Index before = 0;
    for (int i = 0; i < 10; ++i) {
      const LogReader log(path);
      const Index now = intact_samples(log);
      CHECK(now >= before);
      CHECK(now >= 100);
      CHECK(now % 50 == 0);
      CHECK(log.traffic().size() >= 2);
      CHECK(log.workers().back().error_norm == std::vector<double>{4, 5, 6});
      before = now;
    }
    child.kill();
    CHECK(intact_samples(LogReader(path)) >= before);
  }
}

TEST_CASE("log: rows that are counted but missing do not exist, and the log continues after those that exist") {
  const Folder folder;
  const std::string path = folder / "run.h5";
  write_closed(path);
  LogHeader header;
  LogRows rows;
  {
    const LogReader log(path);
    header = log.header();
    rows = {log.committed_rows("steps"),       log.committed_rows("workers"), log.committed_rows("tensors"),
            log.committed_rows("evaluations"), log.committed_rows("events"),  log.committed_rows("traffic")};
  }
  {
    const h5::Object file{{H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose}, {h5::Access::write, path}};
    const Index ahead = rows.steps + 7;
    h5::write(h5::open_dataset(file, "committed_rows"), H5T_NATIVE_INT64, &ahead);
  }
  CHECK(LogReader(path).committed_rows() == rows.steps);
  LogWriter log(path, header, rows, rows);
  log.append(StepRow{.step = rows.steps + 1});
  log.close(RunStatus::finished);
  CHECK(LogReader(path).committed_rows() == rows.steps + 1);
}

TEST_CASE("log: an existing file is replaced on demand only") {
  const Folder folder;
  const std::string path = folder / "run.h5";
  write_closed(path);
  const std::string content = read_file(path);
  CHECK_THROWS_AS(LogWriter(path, sample_header(), false), ConfigError);
  CHECK_THROWS_WITH(LogWriter(path, sample_header(), false),
                    "log exists (" + path + "); --overwrite replaces it; `onebit run --resume` continues it");
  CHECK(read_file(path) == content);
  LogWriter(path, sample_header(), true).close(RunStatus::stopped);
  CHECK(LogReader(path).status() == RunStatus::stopped);
  CHECK(LogReader(path).committed_rows() == 0);
}

TEST_CASE("log: a file that somebody writes is not replaced") {
  const Folder folder;
  const std::string path = folder / "run.h5";
  Child child([&] { return write_for_ever(path, folder / "ready"); });
  wait_for(folder / "ready");
  CHECK_THROWS_WITH(LogWriter(path, sample_header(), true), Contains("another program has it open") && Contains(path));
  CHECK(intact_samples(LogReader(path)) >= 100);
  child.kill();
  LogWriter(path, sample_header(), true).close(RunStatus::finished);
  CHECK(LogReader(path).committed_rows() == 0);

  const LogWriter own(folder / "own.h5", sample_header(), false);
  CHECK_THROWS_AS(LogWriter(folder / "own.h5", sample_header(), true), ConfigError);
}

TEST_CASE("log: a place that cannot be written to is a configuration error") {
  const Folder folder;
  write_file(folder / "file", "");
  for (const std::string& path : {folder / "missing/run.h5", folder / "file/run.h5", std::string("/proc/run.h5")}) {
    CHECK_THROWS_AS(LogWriter(path, sample_header(), true), ConfigError);
    CHECK_THROWS_WITH(LogWriter(path, sample_header(), true), Contains(path) && Contains("irectory"));
  }
  CHECK_THROWS_WITH(LogWriter(folder / "", sample_header(), true), Contains("not a regular file"));
}

TEST_CASE("log: a full disk is one clear error") {
  const Folder folder;
  for (const std::string size : {"520k", "700k", "1100k", "1700k"}) {
    const SmallDisk small(size);
    ONEBIT_SKIP_UNLESS(small.mounted(), "tmpfs", "cannot mount a small tmpfs (not root?)");
    const std::string path = small.folder() / "run.h5";
    Child child([&] {
      if (!std::freopen((folder / "stderr").c_str(), "w", stderr)) return 1;
      LogWriter log(path, sample_header(), false);
      try {
        for (Index step = 0;; step += 50) {
          append_samples(log, step, step + 50);
          log.flush();
          write_file(folder / "flushed", std::to_string(step + 50));
        }
      } catch (const IoError& error) {
        write_file(folder / "message", error.what());
      }
      try {
        log.flush();
      } catch (const IoError& error) {
        write_file(folder / "second", error.what());
      }
      log.close(RunStatus::failed);
      return 7;
    });
    const int status = child.wait();
    INFO(size << ", flushed " << read_file(folder / "flushed"));
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 7));
    CHECK(read_file(folder / "stderr").empty());
    CHECK(read_file(folder / "message") == "cannot write log: No space left on device (" + path + ")");
    CHECK(read_file(folder / "second") == "cannot write log: an earlier write failed (" + path + ")");
    CHECK(intact_samples(LogReader(path)) == std::stoi(read_file(folder / "flushed")));
    CHECK(LogReader(path).status() == RunStatus::running);
  }
}

TEST_CASE("log: no room for a new log leaves no file") {
  const Folder folder;
  const SmallDisk small("16k");
  ONEBIT_SKIP_UNLESS(small.mounted(), "tmpfs", "cannot mount a small tmpfs (not root?)");
  Child child([&] {
    try {
      const LogWriter log(small.folder() / "run.h5", sample_header(), false);
    } catch (const IoError& error) {
      write_file(folder / "message", error.what());
    }
    return 7;
  });
  const int status = child.wait();
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 7));
  CHECK(read_file(folder / "message") ==
        "cannot write log: No space left on device (" + (small.folder() / "run.h5") + ")");
  CHECK(std::filesystem::is_empty(small.folder() / ""));
}

TEST_CASE("log: files that are no log") {
  const Folder folder;
  const std::string path = folder / "run.h5";
  CHECK_THROWS_WITH(LogReader(path), "cannot read log: no such file (" + path + ")");
  CHECK_THROWS_WITH(LogReader(folder / ""), Contains("not a regular file"));
  write_file(path, "");
  CHECK_THROWS_WITH(LogReader(path), Contains("the file is empty"));
  write_file(path, std::string(100'000, 'x'));
  CHECK_THROWS_WITH(LogReader(path), Contains("not an HDF5 file"));
  h5::create_file(folder / "other.h5");
  CHECK_THROWS_WITH(LogReader(folder / "other.h5"), Contains("not a run log"));
}

TEST_CASE("log: truncated at any length is an error") {
  const Folder folder;
  write_closed(folder / "closed.h5");
  write_killed(folder / "killed.h5");
  Child child([&] {
    for (const std::string name : {"closed.h5", "killed.h5"}) {
      const std::string content = read_file(folder / name);
      for (std::size_t size = 0; size < content.size(); size += size < 100 ? 1 : content.size() / 100) {
        write_file(folder / "cut.h5", content.substr(0, size));
        if (complains(folder / "cut.h5")) continue;
        std::fprintf(stderr, "%s cut to %zu of %zu is not an error\n", name.c_str(), size, content.size());
        _exit(1);
      }
    }
    _exit(0);  // at once: on damaged files HDF5 itself leaks memory, and a leak checker would say so
    return 0;
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("log: flipped bytes never crash the reader") {
  const Folder folder;
  write_closed(folder / "closed.h5");
  write_killed(folder / "killed.h5");
  Child child([&] {
    std::mt19937 random(1);
    for (const auto& [name, rounds] : {std::pair{"closed.h5", 300}, {"killed.h5", 15}}) {
      const std::string content = read_file(folder / name);
      for (int i = 0; i < rounds; ++i) {
        std::string damaged = content;
        for (int k = 0; k < 8; ++k) damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
        write_file(folder / "damaged.h5", damaged);
        if (!reads_or_complains(folder / "damaged.h5")) _exit(1);
      }
    }
    _exit(0);  // at once: on damaged files HDF5 itself leaks memory, and a leak checker would say so
    return 0;
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("log: a part of a column that its index has lost is an error, not zeros") {
  const Folder folder;
  const std::string path = folder / "run.h5";
  write_closed(path);
  edit(path, [](hid_t file) {  // four parts of 16 rows, of which the first and the last are stored
    H5Ldelete(file, "steps/loss", H5P_DEFAULT);
    const hsize_t none = 0, most = H5S_UNLIMITED, rows = 60, part = 16;
    const h5::Id space(H5Screate_simple(1, &none, &most), H5Sclose), in_parts(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    REQUIRE(H5Pset_chunk(in_parts.get(), 1, &part) >= 0);
    const h5::Id loss(
        H5Dcreate2(file, "steps/loss", H5T_IEEE_F64LE, space.get(), H5P_DEFAULT, in_parts.get(), H5P_DEFAULT),
        H5Dclose);
    REQUIRE(H5Dset_extent(loss.get(), &part) >= 0);
    const std::vector<double> ones(16, 1.0);
    REQUIRE(H5Dwrite(loss.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, ones.data()) >= 0);
    REQUIRE(H5Dset_extent(loss.get(), &rows) >= 0);
    const hsize_t last = 48, count = 12;
    const h5::Id in_file(H5Dget_space(loss.get()), H5Sclose), in_memory(H5Screate_simple(1, &count, nullptr), H5Sclose);
    REQUIRE(H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, &last, nullptr, &count, nullptr) >= 0);
    REQUIRE(H5Dwrite(loss.get(), H5T_NATIVE_DOUBLE, in_memory.get(), in_file.get(), H5P_DEFAULT, ones.data()) >= 0);
  });
  CHECK_THROWS_WITH(LogReader(path).steps(), Contains("2 of 4 parts are missing") && Contains("/steps/loss"));
  CHECK_THROWS_WITH(LogReader(path).column("steps/loss"), Contains("2 of 4 parts are missing"));
  const LogReader tolerant(path, Damage::tolerated);
  tolerant.read_all();
  REQUIRE(tolerant.unreadable_columns().size() == 1);
  CHECK(tolerant.unreadable_columns()[0].name == "steps/loss");
}

TEST_CASE("log: counts, names and versions are not trusted") {
  const Folder folder;
  const std::string path = folder / "run.h5";
  write_closed(path);
  edit(path, [](hid_t file) { set_count(file, "committed_rows", Index{1} << 60); });
  CHECK(intact_samples(LogReader(path)) == 60);
  edit(path, [](hid_t file) { set_count(file, "committed_rows", -5); });
  CHECK(intact_samples(LogReader(path)) == 0);
  edit(path, [](hid_t file) {  // a column that pretends to be huge, and a count to match
    set_count(file, "committed/events", Index{1} << 60);
    const hsize_t size = hsize_t{1} << 60;
    for (const char* name : {"events/step", "events/kind", "events/text"}) {
      const h5::Id dataset(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose);
      REQUIRE(H5Dset_extent(dataset.get(), &size) >= 0);
    }
  });
  CHECK_THROWS_WITH(LogReader(path).events(), Contains("its size is implausible") && Contains("/events/step"));
  edit(path, [](hid_t file) {
    set_count(file, "committed_rows", 60);
    H5Ldelete(file, "steps/loss", H5P_DEFAULT);
  });
  CHECK_THROWS_WITH(LogReader(path).steps(), "log has no column steps/loss (" + path + ")");
  edit(path, [](hid_t file) {
    H5Lmove(file, "steps/lr", file, "steps/zeta", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcopy(file, "events", file, "extra", H5P_DEFAULT, H5P_DEFAULT);
  });
  CHECK(LogReader(path).unknown_columns() == std::vector<std::string>{"extra", "steps/zeta"});
  edit(path, [](hid_t file) { set_version(file, 2); });
  CHECK_THROWS_WITH(LogReader(path),
                    Contains("log has format_version 2, this program reads format_version 1") && Contains(path));
  edit(path, [](hid_t file) { set_version(file, 1); });
  edit(path, [](hid_t file) { H5Ldelete(file, "committed_rows", H5P_DEFAULT); });
  CHECK_THROWS_WITH(LogReader(path), Contains("/committed_rows is missing") && Contains(path));
}
