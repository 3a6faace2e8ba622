#include "sim/log/log_state.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "device/error.hpp"
#include "sim/log/superblock.hpp"

namespace onebit::sim {

bool log_is_closed(const std::string& path) {
  try {
    return !read_superblock(path).being_written;
  } catch (const ConfigError&) {
    return false;
  }
}

bool log_is_in_use(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool used = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return used;
}

}  // namespace onebit::sim
