// Temporary files next to an output: nobody's link is followed, and what a killed program left is no obstacle.

#include <filesystem>
#include <functional>

#include "sim/log/compact.hpp"
#include "sim/log/output_file.hpp"
#include "sim/log/table_file.hpp"
#include "sim/run/trace.hpp"
#include "sim/run/weights_file.hpp"
#include "tests/catch.hpp"
#include "tests/sim/log/log_fixture.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;

namespace {

namespace fs = std::filesystem;

void write_log(const std::string& path) {
  LogWriter log(path, sample_header(), true);
  append_samples(log, 1, 4);
  log.close(RunStatus::finished);
}

/// How a kind of file is written, under the name PATH.part at first.
struct Format {
  std::string name;
  std::function<void(const std::string& path)> write;
};

std::vector<Format> formats() {
  const auto compressed = [](const std::string& path) { compress_log(path, 4); };
  const auto weights = [](const std::string& path) {
    write_weights(path, std::vector<compress::Tensor>{{"w", 2}}, std::vector<float>{1, 2});
  };
  const auto trace = [](const std::string& path) {
    TraceWriter writer(path, 2, true);
    writer.write_step(0, {1, 2});
    writer.close();
  };
  const auto table = [](const std::string& path) {
    write_table(path + ".part", "a-table", 1, {{"step", "1", "", std::vector<Index>{1}}});
    fs::rename(path + ".part", path);
  };
  return {{"log", write_log}, {"log", compressed}, {"weights", weights}, {"trace", trace}, {"table", table}};
}

}  // namespace

TEST_CASE("parts: a link at a temporary name is removed, its target is left alone") {
  const Folder folder;
  const std::string victim = folder.write("victim", "precious");
  for (const Format& format : formats()) {
    for (const char* target : {"victim", "absent", "fifo"}) {
      const std::string path = folder / format.name, part = path + ".part";
      CAPTURE(path, target);
      fs::create_symlink(target, part);
      format.write(path);
      CHECK(fs::is_regular_file(fs::symlink_status(path)));
      CHECK(read_file(path).starts_with("\x89HDF"));
      CHECK_FALSE(fs::exists(fs::symlink_status(part)));
      CHECK(read_file(victim) == "precious");
      CHECK_FALSE(fs::exists(folder / "absent"));
    }
  }
}

TEST_CASE("parts: what a killed program left at a temporary name is replaced") {
  const Folder folder;
  for (const Format& format : formats()) {
    const std::string path = folder / format.name;
    CAPTURE(path);
    write_file(path + ".part", "half of a file");
    format.write(path);
    CHECK(read_file(path).starts_with("\x89HDF"));
    CHECK_FALSE(fs::exists(path + ".part"));
  }
}

TEST_CASE("parts: the copy of a compression that was killed is removed, but not while a program has the log open") {
  const Folder folder;
  const std::string path = folder / "run.h5", part = path + ".part";
  write_file(part, "a log that begins");
  remove_left_part(path);
  CHECK(fs::exists(part));  // there is no log: the file may be the beginning of one
  write_log(path);
  const std::string log = read_file(path);
  write_file(part, "half of a copy");
  {
    const SharedLock lock(path);  // like that of a program that is compressing the log
    remove_left_part(path);
    CHECK(fs::exists(part));
  }
  remove_left_part(path);
  CHECK_FALSE(fs::exists(part));
  CHECK(read_file(path) == log);
  CHECK_NOTHROW(remove_left_part(path));
}
