// The check before a file is read: when it runs, and what it reads.

#include "sim/log/read_check.hpp"

#include <atomic>
#include <filesystem>

#include "device/base/error.hpp"
#include "sim/log/compact.hpp"
#include "sim/log/contents.hpp"
#include "sim/log/reader.hpp"
#include "sim/run/trace.hpp"
#include "tests/catch.hpp"
#include "tests/sim/log/log_fixture.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

/// Gives each check the same answer, and counts the checks.
class Answer {
 public:
  explicit Answer(const std::string& why) {
    set_read_check([this, why](const std::string& path, bool) {
      paths.push_back(path);
      return why;
    });
  }
  ~Answer() { set_read_check({}); }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  std::vector<std::string> paths;
};

/// A file with one value, in a format that HDF5 1.8 reads, too.
std::string write_small(const std::string& path, const std::string& group = "group") {
  const h5::Id file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  const h5::Id inner(H5Gcreate2(file.get(), group.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  const h5::Object object{h5::Id(H5Gopen2(file.get(), "/", H5P_DEFAULT), H5Gclose), {h5::Access::write, path}};
  h5::put_attribute(object, "number", 3.5);
  return path;
}

}  // namespace

TEST_CASE("read check: a file is checked once for as long as it stays the same") {
  const Folder folder;
  const std::string path = write_small(folder / "file.h5");
  Answer fine("");
  for (int i = 0; i < 3; ++i) CHECK(h5::real_attribute(h5::open_file(path, false), "number") == 3.5);
  CHECK(fine.paths.size() == 1);
  write_small(path, "a group with a longer name");
  h5::open_file(path, false);
  CHECK(fine.paths.size() == 2);
}

TEST_CASE("read check: a file that is refused stays refused, and the error names it") {
  const Folder folder;
  const std::string path = write_small(folder / "file.h5");
  const std::string reason = "the process that checks it was killed by signal 11 while HDF5 was reading it";
  Answer refusal(reason);
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_AS(h5::open_file(path, false), ConfigError);
    CHECK_THROWS_WITH(GradientTrace(path), StartsWith("cannot read gradient trace: " + reason + " (" + path + ")"));
  }
  CHECK(refusal.paths.size() == 1);
}

TEST_CASE(
    "read check: many files are checked side by side, once each, and those that cannot be opened are passed over") {
  const Folder folder;
  std::vector<std::string> paths = {folder / "missing.h5", folder / "text.h5"};
  write_file(paths[1], "no HDF5 file");
  for (int i = 0; i < 40; ++i) paths.push_back(write_small(folder / (std::to_string(i) + ".h5")));
  std::atomic<int> checks = 0;
  set_read_check([&](const std::string& path, bool) {
    ++checks;
    return path.ends_with("/7.h5") ? std::string("it is odd") : std::string();
  });
  check_ahead(paths);
  CHECK(checks == 40);
  for (int i = 0; i < 40; ++i) {
    const auto open = [&] { h5::open_file(paths[static_cast<std::size_t>(i + 2)], false); };
    if (i == 7) {
      CHECK_THROWS_WITH(open(), Contains("it is odd"));
    } else {
      CHECK_NOTHROW(open());
    }
  }
  CHECK(checks == 40);
  set_read_check({});
}

TEST_CASE("read check: links are followed before the check") {
  const Folder folder;
  write_small(folder / "file.h5");
  std::filesystem::create_symlink(folder / "file.h5", folder / "link.h5");
  const Answer fine("");
  h5::open_file(folder / "link.h5", false);
  REQUIRE(fine.paths.size() == 1);
  CHECK(fine.paths[0] == std::filesystem::canonical(folder / "file.h5"));
}

TEST_CASE("read check: reading back what this process has written needs none") {
  const Folder folder;
  const Answer refusal("no");
  h5::Object file = h5::create_file(folder / "file.h5");
  h5::put_attribute(file, "number", 3.5);
  h5::close_file(file);
  CHECK_NOTHROW(h5::verify(file));
  CHECK(refusal.paths.empty());
}

TEST_CASE("read check: a log that this process has written needs none until something else changes it") {
  const Folder folder;
  const Answer refusal("no");
  const std::string path = folder / "run.h5";
  LogWriter log(path, sample_header(), false);
  append_samples(log, 0, 5);
  log.close(RunStatus::finished);
  CHECK(LogReader(path).steps().size() == 5);
  compress_log(path, 1);
  CHECK(LogReader(path).steps().size() == 5);
  CHECK(refusal.paths.empty());
  write_file(path, read_file(path) + '\0');
  CHECK_THROWS_WITH(LogReader(path), Contains(": no ("));
}

TEST_CASE("read check: everything is read of logs and of other files, and errors of objects are passed over") {
  const Folder folder;
  write_small(folder / "file.h5");
  CHECK_NOTHROW(read_everything(folder / "file.h5", false));
  LogWriter log(folder / "run.h5", sample_header(), false);
  append_samples(log, 0, 5);
  CHECK_NOTHROW(read_everything(folder / "run.h5", true));
  log.close(RunStatus::finished);
  CHECK_NOTHROW(read_everything(folder / "run.h5", false));
  CHECK_NOTHROW(read_everything(folder / "missing.h5", false));
  CHECK_NOTHROW(read_everything(folder.write("text.h5", "no HDF5"), false));
}

TEST_CASE("read check: a group that cannot be listed is an error, because the readers would look into it") {
  const Folder folder;
  const std::string path = write_small(folder / "file.h5");
  std::string bytes = read_file(path);
  const std::size_t node = bytes.find("SNOD");
  REQUIRE(node != bytes.npos);
  bytes[node] = 'X';
  write_file(path, bytes);
  CHECK_THROWS_AS(read_everything(path, false), IoError);
}

TEST_CASE("read check: a group that contains itself is read once, and has no contents to compare") {
  const Folder folder;
  const std::string path = write_small(folder / "file.h5");
  {
    const h5::Id file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    REQUIRE(H5Lcreate_hard(file.get(), "/", file.get(), "group/root", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  }
  CHECK_NOTHROW(read_everything(path, false));
  CHECK_THROWS_WITH(h5::Contents::of(h5::open_file(path, false)), Contains("a group has two names"));
}
