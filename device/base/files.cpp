#include "device/base/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "device/base/error.hpp"

namespace onebit::files {
namespace {

namespace fs = std::filesystem;

constexpr Index kStep = Index{1} << 16;  // minimum growth of the buffer while a file is read, in bytes
constexpr int kMostLinks = 40;           // the system's own limit for following links

std::string reason() {
  return std::generic_category().message(errno);
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

[[noreturn]] void fail(const std::string& path, const std::string& kind) {
  throw IoError("cannot write " + kind + ": " + reason(), path);
}

/// Throws IoError unless the file contains exactly this text.
void require_text(const std::string& path, std::string_view text) {
  std::string there;
  try {
    there = read_text(path, "file", "", static_cast<Index>(text.size()));
  } catch (const ConfigError& error) {
    throw IoError("reading back failed: " + std::string(error.what()));
  }
  if (there != text)
    throw IoError("cannot write file: its contents differ from what was written", path,
                  "the disk may be faulty: name another output");
}

/// Returns false, with errno set, if writing fails.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

[[noreturn]] void refuse_output(const std::string& path) {
  throw ConfigError("the output is not a regular file", path, "name a new file or an existing regular file");
}

}  // namespace

RegularFile::RegularFile(std::string path, std::string what, std::string hint)
    : path_(std::move(path)), what_(std::move(what)), hint_(std::move(hint)) {
  struct stat status = {};
  if (stat(path_.c_str(), &status) != 0) refuse(errno == ENOENT ? "no such file" : reason());
  // The kind is checked before opening, because opening a device has side effects. O_NONBLOCK keeps a FIFO that appears
  // in between from blocking.
  if (S_ISREG(status.st_mode)) {
    descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) refuse(reason());
  }
  if (S_ISREG(status.st_mode)) {
    size_ = static_cast<Index>(status.st_size);
    return;
  }
  if (descriptor_ >= 0) close(descriptor_);
  if (S_ISFIFO(status.st_mode)) hint_ = "write the pipe's output to a file first, and name that file";
  refuse(std::string("not a regular file but ") + kind_of(status.st_mode));
}

RegularFile::~RegularFile() {
  close(descriptor_);
}

void RegularFile::refuse(const std::string& why) const {
  throw ConfigError("cannot read " + what_ + ": " + why, path_, hint_);
}

/// Reads until `bytes` are full or the file ends. Returns the number of bytes read.
Index RegularFile::fill(std::span<std::uint8_t> bytes, Index offset) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = pread(descriptor_, bytes.data() + done, bytes.size() - done, offset + static_cast<Index>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(reason());
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<Index>(done);
}

std::vector<std::uint8_t> RegularFile::head(Index count) const {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  bytes.resize(static_cast<std::size_t>(fill(bytes, 0)));
  return bytes;
}

std::vector<std::uint8_t> RegularFile::all(Index limit) const {
  const auto too_large = [&](Index size) {
    refuse(std::to_string(size) + " bytes exceed the limit of " + std::to_string(limit));
  };
  if (size_ > limit) too_large(size_);
  // Room for one byte more than expected, because only an empty read marks the end of the file. Files in /proc report a
  // size of 0.
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size_ + 1));
  Index count = fill(bytes, 0);
  while (count == static_cast<Index>(bytes.size())) {
    if (count > limit) too_large(count);
    bytes.resize(static_cast<std::size_t>(std::min(2 * count + kStep, limit + 1)));
    count += fill(std::span(bytes).subspan(static_cast<std::size_t>(count)), count);
  }
  if (count < size_) refuse("the file became shorter while it was read");
  bytes.resize(static_cast<std::size_t>(count));
  return bytes;
}

std::string read_text(const std::string& path, const std::string& what, const std::string& hint, Index limit) {
  const std::vector<std::uint8_t> bytes = RegularFile(path, what, hint).all(limit);
  return {bytes.begin(), bytes.end()};
}

std::string output_place(const std::string& path) {
  fs::path place = path;
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(place, error)); ++links) {
    const fs::path folder = fs::canonical(fs::absolute(place).parent_path(), error);
    if (error || links == kMostLinks || folder.native().starts_with("/proc/")) refuse_output(path);
    place = folder / fs::read_symlink(place, error);
  }
  const fs::file_status status = fs::status(place, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) refuse_output(path);
  return place.string();
}

void check_output(const std::string& path, bool overwrite, const std::string& hint) {
  std::error_code error;  // a path that cannot be checked cannot be written either; the write then fails and says why
  if (fs::exists(output_place(path), error) && !overwrite) throw ConfigError("output exists", path, hint);
}

void publish(const std::string& part, const std::string& path, const std::string& kind,
             const std::function<void()>& verify) {
  try {
    synchronize_path(part, kind);
    verify();
    if (rename(part.c_str(), path.c_str()) != 0) fail(path, kind);
  } catch (...) {
    unlink(part.c_str());
    throw;
  }
  synchronize_folder_of(path);
}

void replace(const std::string& path, const std::function<void(const std::string&)>& write) {
  const std::string place = output_place(path);
  const std::string part = temporary_name(place);
  try {
    write(part);
  } catch (...) {
    unlink(part.c_str());
    throw;
  }
  publish(part, place, "file", [] {});
}

void write(const std::string& path, std::string_view text) {
  replace(path, [&](const std::string& part) { write_new(part, text); });
}

int create_new(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return -1;
  return open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

void write_new(const std::string& path, std::string_view text) {
  const int fd = create_new(path);
  if (fd < 0) fail(path, "file");
  const bool written = write_all(fd, text);
  const int error = errno;
  const bool closed = close(fd) == 0;
  if (!written) errno = error;
  if (!written || !closed) fail(path, "file");
  synchronize_path(path, "file");
  require_text(path, text);
}

std::string temporary_name(const std::string& path) {
  return path + "." + host_name() + "-" + std::to_string(getpid()) + ".part";
}

std::string host_name() {
  char text[256] = "";
  gethostname(text, sizeof text - 1);
  return text;
}

void synchronize_path(const std::string& path, const std::string& kind) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool failed = fd < 0 || fsync(fd) != 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  errno = error;
  if (failed) fail(path, kind);
}

void synchronize_folder_of(const std::string& path) {
  const std::string folder = fs::absolute(path).parent_path();
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool failed = fd < 0 || (fsync(fd) != 0 && errno != EINVAL);  // EINVAL: the folder cannot be synchronised
  const int error = errno;
  if (fd >= 0) close(fd);
  errno = error;
  if (failed) fail(folder, "folder");
}

}  // namespace onebit::files
