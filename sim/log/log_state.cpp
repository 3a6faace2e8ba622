#include "sim/log/log_state.hpp"

#include <sys/file.h>

#include <cerrno>

#include "device/error.hpp"
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

bool log_is_in_use(const std::string& path) {
  const Descriptor own(path, O_RDWR);  // NFS gives no exclusive lock to who cannot write
  return own.get() >= 0 && flock(own.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace onebit::sim
