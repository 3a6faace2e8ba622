// Files that a user names: which files are read, and which an output may replace.

#include "device/base/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "device/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/folder.hpp"

using namespace onebit;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

void check_unreadable(const std::string& path, const std::string& why) {
  CAPTURE(path, why);
  CHECK_THROWS_AS(files::read_text(path, "config file"), ConfigError);
  CHECK_THROWS_WITH(files::read_text(path, "config file"),
                    Contains("cannot read config file: ") && Contains(path) && Contains(why));
}

void check_no_output(const std::string& path) {
  CAPTURE(path);
  CHECK_THROWS_AS(files::write(path, "text"), ConfigError);
  CHECK_THROWS_WITH(files::check_output(path, true), Contains("not a regular file") && Contains(path));
}

}  // namespace

TEST_CASE("files: a text is read whole, whatever size the system tells") {
  const Folder folder;
  CHECK(files::read_text(folder.write("empty", ""), "file").empty());
  const std::string text(300'000, 'x');
  CHECK(files::read_text(folder.write("text", text), "file") == text);
  CHECK(std::filesystem::file_size("/proc/self/status") == 0);
  CHECK_THAT(files::read_text("/proc/self/status", "file"),
             Contains("VmRSS") && Contains("nonvoluntary_ctxt_switches"));
  std::filesystem::create_symlink("text", folder / "link");
  CHECK(files::read_text(folder / "link", "file") == text);
}

TEST_CASE("files: reading that fails is no end of the file") {
  check_unreadable("/proc/self/mem", "Input/output error");
}

TEST_CASE("files: what is no regular file is refused at once") {
  const Folder folder;
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  check_unreadable(folder / "fifo", "not a regular file but a pipe");
  check_unreadable("/dev/zero", "not a regular file but a device");
  check_unreadable("/dev/null", "not a regular file but a device");
  check_unreadable(folder.path(), "not a regular file but a folder");
  check_unreadable(folder / "absent", "no such file");
  check_unreadable(folder.write("file", "") + "/below", "Not a directory");
}

TEST_CASE("files: a limit holds for what the system tells and for what it does not tell") {
  const Folder folder;
  folder.write("sparse", "");
  REQUIRE(truncate((folder / "sparse").c_str(), off_t{1} << 40) == 0);
  check_unreadable(folder / "sparse", "1099511627776 bytes exceed the limit of 16777216");
  const std::string text = folder.write("text", std::string(100, 'x'));
  CHECK(files::read_text(text, "file", "", 100).size() == 100);
  CHECK_THROWS_AS(files::read_text(text, "file", "", 99), ConfigError);
  CHECK_THROWS_WITH(files::read_text("/proc/self/status", "file", "", 100), Contains("exceed the limit of 100"));
}

TEST_CASE("files: an output takes the place of a regular file alone") {
  const Folder folder;
  files::write(folder / "new", "one");
  files::write(folder / "new", "two");
  CHECK(read_file(folder / "new") == "two");
  CHECK_NOTHROW(files::check_output(folder / "absent", false));
  CHECK_NOTHROW(files::check_output(folder / "new", true));
  CHECK_THROWS_WITH(files::check_output(folder / "new", false), Contains("output exists") && Contains("--overwrite"));
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  std::filesystem::create_symlink("fifo", folder / "to-fifo");
  check_no_output(folder / "fifo");
  check_no_output(folder / "to-fifo");
  check_no_output(folder.path());
  check_no_output("/dev/null");
  CHECK(std::filesystem::is_fifo(folder / "fifo"));
  CHECK(std::filesystem::is_character_file("/dev/null"));
  CHECK_THROWS_AS(files::write(folder / "absent/file", "text"), IoError);
}

TEST_CASE("files: an output goes where a link says, but not to an open file of a process") {
  const Folder folder;
  folder.write("below/file", "one");
  std::filesystem::create_symlink("below", folder / "folder");
  std::filesystem::create_symlink("folder/file", folder / "link");
  std::filesystem::create_symlink("below/new", folder / "dangling");
  files::write(folder / "link", "two");
  files::write(folder / "dangling", "three");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(read_file(folder / "below/file") == "two");
  CHECK(read_file(folder / "below/new") == "three");
  const int open_file = open((folder / "below/file").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(open_file >= 0);
  const std::string name = std::to_string(open_file);
  check_no_output("/proc/self/fd/" + name);
  check_no_output("/dev/fd/" + name);
  std::filesystem::create_symlink("/dev/fd/" + name, folder / "opened");
  check_no_output(folder / "opened");
  CHECK(std::filesystem::is_symlink(folder / "opened"));
  std::filesystem::create_symlink("loop", folder / "loop");
  check_no_output(folder / "loop");
  close(open_file);
}

TEST_CASE("files: a link at the name of a temporary file is not followed, and a file that was left is replaced") {
  const Folder folder;
  const std::string out = folder / "out", part = files::temporary_name(out);
  const std::string victim = folder.write("victim", "precious");
  for (const char* target : {"victim", "absent"}) {
    std::filesystem::create_symlink(target, part);
    files::write(out, "text");
    CHECK(read_file(out) == "text");
    CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(out)));
    CHECK_FALSE(std::filesystem::exists(std::filesystem::symlink_status(part)));
  }
  CHECK(read_file(victim) == "precious");
  CHECK_FALSE(std::filesystem::exists(folder / "absent"));
  std::filesystem::create_hard_link(victim, part);
  files::write(out, "other");
  CHECK(read_file(victim) == "precious");
  write_file(part, "left by a killed program that had the same number");
  files::write(out, "new");
  CHECK(read_file(out) == "new");
  std::filesystem::create_directory(part);
  CHECK_THROWS_WITH(files::write(out, "text"), Contains("cannot write file") && Contains(part));
  CHECK(read_file(out) == "new");
}
