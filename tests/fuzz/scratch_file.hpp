#pragma once
// Bytes under a path, for readers that open files.

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/fuzz.hpp"

namespace onebit::fuzz {

using Bytes = std::vector<std::uint8_t>;

/// A file in memory where the system has a folder for that, which is gone with this object.
class ScratchFile {
 public:
  ScratchFile() : path_((folder() / "onebit-fuzz-XXXXXX").string()) {
    fd_ = mkstemp(path_.data());
    require(fd_ >= 0);
  }
  ~ScratchFile() {
    close(fd_);
    unlink(path_.c_str());
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& path() const { return path_; }

  std::size_t size() const {
    struct stat status {};
    require(fstat(fd_, &status) == 0);
    return static_cast<std::size_t>(status.st_size);
  }
  Bytes read(std::size_t place, std::size_t count) const {
    Bytes bytes(count);
    require(pread(fd_, bytes.data(), count, static_cast<off_t>(place)) == static_cast<ssize_t>(count));
    return bytes;
  }
  void write(std::size_t place, std::span<const std::uint8_t> bytes) {
    require(pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(place)) == static_cast<ssize_t>(bytes.size()));
  }
  void resize(std::size_t to) { require(size() == to || ftruncate(fd_, static_cast<off_t>(to)) == 0); }

 private:
  static std::filesystem::path folder() {
    const std::filesystem::path memory = "/dev/shm";
    return std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
  }

  std::string path_;
  int fd_;
};

/// Changes to a file that end with this object.
class Changes {
 public:
  explicit Changes(ScratchFile& file) : file_(file) {}
  ~Changes() {
    for (auto change = undo_.rbegin(); change != undo_.rend(); ++change) {
      file_.resize(change->size);
      file_.write(change->place, change->bytes);
    }
  }
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  void write(std::size_t place, std::span<const std::uint8_t> bytes) {
    undo_.push_back({file_.size(), place, file_.read(place, bytes.size())});
    file_.write(place, bytes);
  }
  void resize(std::size_t size) {
    const std::size_t before = file_.size(), kept = std::min(before, size);
    if (size == before) return;
    undo_.push_back({before, kept, file_.read(kept, before - kept)});
    file_.resize(size);
  }

 private:
  struct Undo {
    std::size_t size;  ///< of the file before the change
    std::size_t place;
    Bytes bytes;
  };

  ScratchFile& file_;
  std::vector<Undo> undo_;
};

}  // namespace onebit::fuzz
