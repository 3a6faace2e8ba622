// Files are read back before they count: if a disk lost something, that is an error, and no file is replaced.

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "sim/log/contents.hpp"
#include "sim/log/table_file.hpp"
#include "tests/catch.hpp"
#include "tests/sim/log/log_fixture.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

/// Overwrites the first occurrence of these bytes in a file, as if a write had been lost.
void spoil(const std::string& path, const std::string& bytes) {
  const std::size_t place = read_file(path).find(bytes);
  REQUIRE(place != std::string::npos);
  const int file = open(path.c_str(), O_WRONLY);
  CHECK(pwrite(file, "\x01", 1, static_cast<off_t>(place)) == 1);
  close(file);
}

std::string bytes_of(double value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// A file with a scalar, rows, layers and a compound with gaps, closed.
h5::Object write_sample(const std::string& path) {
  h5::Object file = h5::create_file(path);
  h5::put_attribute(file, "about", "an attribute that is there");
  h5::put_attribute(file, "empty", "");
  const double scalar = 3.25;
  h5::Object one = h5::create_scalar(file, "one", H5T_NATIVE_DOUBLE);
  h5::write(one, H5T_NATIVE_DOUBLE, &scalar);
  h5::close(one);
  h5::Object rows = h5::create_rows(file, "rows", H5T_NATIVE_DOUBLE, 2);
  for (Index row = 0; row < 5; ++row) {
    const std::vector<double> values = {static_cast<double>(row) + 0.125, 7};
    h5::append_rows(rows, H5T_NATIVE_DOUBLE, values.data(), row, 1);
  }
  h5::close(rows);
  h5::Object box = h5::create_box(file, "box", H5T_NATIVE_DOUBLE, std::vector<Index>{2, 2, 3});
  for (const Index layer : {1, 0}) {
    const std::vector<double> values = {1, 2, 3, 4, 5, 6.5 + static_cast<double>(layer)};
    h5::write_layer(box, H5T_NATIVE_DOUBLE, values.data(), layer);
  }
  h5::close(box);
  h5::close_file(file);
  return file;
}

}  // namespace

TEST_CASE("read back: a file holds what was written, in any order of writing") {
  const Folder folder;
  const h5::Object file = write_sample(folder / "file.h5");
  CHECK_NOTHROW(h5::verify(file));
  CHECK(h5::read_back(file).checksum() == file.contents->checksum());
}

TEST_CASE("read back: every value that was lost is named") {
  const Folder folder;
  const std::vector<std::pair<std::string, std::string>> losses = {
      {bytes_of(3.25), "/one"}, {bytes_of(2.125), "/rows"}, {bytes_of(7.5), "/box"}};
  for (const auto& [bytes, name] : losses) {
    const std::string path = folder / (name.substr(1) + ".h5");
    const h5::Object file = write_sample(path);
    spoil(path, bytes);
    CHECK_THROWS_WITH(h5::verify(file),
                      "cannot write log: its contents differ from what was written; the disk may be failing (" + path +
                          ": " + name + ")");
  }
}

TEST_CASE("read back: a file is not closed while a part of it is open") {
  const Folder folder;
  h5::Object file = h5::create_file(folder / "file.h5");
  h5::Object group = h5::create_group(file, "group");
  CHECK_THROWS_WITH(h5::close_file(file), Contains("still open"));
  h5::close(group);
  CHECK_NOTHROW(h5::close_file(file));
}

TEST_CASE("read back: a file that is not as intended replaces nothing") {
  const Folder folder;
  const std::string path = folder / "file", part = folder / "file.part";
  write_file(path, "old");
  write_file(part, "new");
  CHECK_THROWS_AS(files::publish(part, path, "file", [] { throw IoError("no"); }), IoError);
  CHECK(read_file(path) == "old");
  CHECK_FALSE(std::filesystem::exists(part));
  write_file(part, "new");
  files::publish(part, path, "file", [&] { CHECK(read_file(path) == "old"); });
  CHECK(read_file(path) == "new");
  CHECK_THROWS_WITH(files::publish(part, path, "table", [] {}),
                    "cannot write table: No such file or directory (" + part + ")");
}

TEST_CASE("read back: a log that lost rows is an error of its writer, and no reader takes it") {
  const Folder folder;
  const std::string path = folder / "run.h5";
  LogWriter log(path, sample_header(), false);
  append_samples(log, 0, 9);
  log.flush();
  spoil(path, bytes_of(sample_step(4).loss));
  CHECK_THROWS_WITH(log.close(RunStatus::finished),
                    Contains("contents differ from what was written") && Contains("/steps/loss"));
  CHECK_THROWS_WITH(LogReader(path), Contains("its writer found it damaged") && Contains(path));
}

TEST_CASE("read back: a log whose name was taken by another file leaves that file alone") {
  const Folder folder;
  const std::string path = folder / "run.h5";
  LogWriter log(path, sample_header(), false);
  append_samples(log, 1, 3);
  std::filesystem::rename(path, folder / "moved.h5");
  write_file(path, std::string(1 << 16, 'x'));
  CHECK_THROWS_WITH(log.close(RunStatus::finished), Contains("another program has replaced it"));
  CHECK(read_file(path) == std::string(1 << 16, 'x'));
}

TEST_CASE("read back: a log that goes on keeps the rows that it had") {
  const Folder folder;
  const std::string path = folder / "run.h5";
  LogRows rows;
  {
    LogWriter log(path, sample_header(), false);
    append_samples(log, 0, 9);
    rows = log.rows();
    log.close(RunStatus::stopped);
  }
  LogWriter log(path, sample_header(), rows, rows);
  log.append(sample_step(9));
  log.flush();
  spoil(path, bytes_of(sample_step(4).loss));
  CHECK_THROWS_WITH(log.close(RunStatus::finished), Contains("/steps/loss"));
}
