#pragma once
// Owner of a POSIX file descriptor. Internal to sim.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>

namespace onebit::sim {

class Descriptor {
 public:
  /// Opens a file; if that fails, get() is negative and errno says why. Does not block, not even on a FIFO.
  Descriptor(const std::string& path, int flags) : value_(open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return value_; }

  /// Reads `bytes` bytes starting at `place`, or fewer if the file ends earlier. Returns the number of bytes read, or
  /// -1 with errno set on failure.
  ssize_t read_at(void* data, std::size_t bytes, off_t place) const {
    return transfer(pread, static_cast<char*>(data), bytes, place);
  }
  /// Writes all bytes. Returns whether that worked; if not, errno says why.
  bool write_at(const void* data, std::size_t bytes, off_t place) const {
    return transfer(pwrite, static_cast<const char*>(data), bytes, place) == static_cast<ssize_t>(bytes);
  }

 private:
  /// Repeats a call if a signal interrupts it or if it transfers only some of the bytes.
  template <class Call, class Bytes>
  ssize_t transfer(Call call, Bytes* data, std::size_t bytes, off_t place) const {
    std::size_t done = 0;
    while (done < bytes) {
      const ssize_t count = call(value_, data + done, bytes - done, place + static_cast<off_t>(done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return -1;
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    return static_cast<ssize_t>(done);
  }

  int value_;
};

}  // namespace onebit::sim
