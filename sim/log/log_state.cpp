#include "sim/log/log_state.hpp"

#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "device/base/error.hpp"
#include "sim/log/descriptor.hpp"
#include "sim/log/superblock.hpp"

namespace onebit::sim {

std::optional<FileState> state_of(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return {};
  return FileState{file.st_dev, file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
}

bool log_is_closed(const std::string& path) {
  try {
    return !read_superblock(path).being_written;
  } catch (const ConfigError&) {
    return false;
  }
}

// NFS grants no exclusive lock on a file that is open for reading only; a local file system does.
LogUse log_use(const std::string& path) {
  const Descriptor writable(path, O_RDWR), readable(path, O_RDONLY);
  const int own = writable.get() >= 0 ? writable.get() : readable.get();
  if (own < 0) return LogUse::unknown;
  if (flock(own, LOCK_EX | LOCK_NB) == 0) return LogUse::free;
  return errno == EWOULDBLOCK ? LogUse::in_use : LogUse::unknown;
}

bool log_is_in_use(const std::string& path) {
  return log_use(path) == LogUse::in_use;
}

}  // namespace onebit::sim
