#pragma once
// Bytes in a file, for readers that open files.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/fuzz.hpp"

namespace onebit::fuzz {

using Bytes = std::vector<std::uint8_t>;

/// A temporary file of at most kMost bytes, in memory if the system has a folder for that. It is mapped, because an
/// input may change it in many places.
class ScratchFile {
 public:
  static constexpr std::size_t kMost = std::size_t{4} << 20;

  /// ending: end of its name, for readers that depend on it.
  explicit ScratchFile(const std::string& ending = "")
      : path_((folder() / ("onebit-fuzz-XXXXXX" + ending)).string()),
        fd_(mkstemps(path_.data(), static_cast<int>(ending.size()))) {
    require(fd_ >= 0);
    void* place = mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    require(place != MAP_FAILED);
    data_ = static_cast<std::uint8_t*>(place);
  }
  ~ScratchFile() {
    munmap(data_, kMost);
    close(fd_);
    unlink(path_.c_str());
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& path() const { return path_; }
  std::size_t size() const { return size_; }

  Bytes read(std::size_t place, std::size_t count) const {
    require(place + count <= size_);
    return {data_ + place, data_ + place + count};
  }
  void write(std::size_t place, std::span<const std::uint8_t> bytes) {
    if (bytes.empty()) return;
    if (place + bytes.size() > size_) resize(place + bytes.size());
    std::memcpy(data_ + place, bytes.data(), bytes.size());
  }
  /// Replaces the contents.
  void assign(std::span<const std::uint8_t> bytes) {
    resize(0);
    write(0, bytes);
  }
  void resize(std::size_t to) {
    require(to <= kMost);
    if (to != size_) require(ftruncate(fd_, static_cast<off_t>(to)) == 0);
    size_ = to;
  }

 private:
  static std::filesystem::path folder() {
    const std::filesystem::path memory = "/dev/shm";
    return std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
  }

  std::string path_;
  int fd_;
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Changes to a file, which are undone at the end of the scope.
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
    std::size_t size;  ///< size of the file before the change
    std::size_t place;
    Bytes bytes;
  };

  ScratchFile& file_;
  std::vector<Undo> undo_;
};

}  // namespace onebit::fuzz
