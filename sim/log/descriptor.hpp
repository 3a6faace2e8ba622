#pragma once
// Owner of a POSIX file descriptor. Internal to sim.

#include <fcntl.h>
#include <unistd.h>

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

 private:
  int value_;
};

}  // namespace onebit::sim
