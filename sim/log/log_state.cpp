#include "sim/log/log_state.hpp"

#include <sys/file.h>

#include <cerrno>

#include "device/base/error.hpp"
#include "sim/log/descriptor.hpp"
#include "sim/log/superblock.hpp"

namespace onebit::sim {

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
