#include "sim/log/output_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "device/error.hpp"

namespace onebit::sim {
namespace {

int descriptor(const h5::Object& file) {
  void* handle = nullptr;
  h5::check(H5Fget_vfd_handle(file.id.get(), H5P_DEFAULT, &handle), file.where);
  return *static_cast<int*>(handle);
}

bool names(const std::string& path, int fd) {
  struct stat by_path {};
  struct stat by_fd {};
  return stat(path.c_str(), &by_path) == 0 && fstat(fd, &by_fd) == 0 && by_path.st_ino == by_fd.st_ino &&
         by_path.st_dev == by_fd.st_dev;
}

// File systems without locks answer with other errors: there the user has to take care.
bool lock_refused(int fd, int kind) {
  return flock(fd, kind | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

// Holding the lock while the name goes means that no writer can have started in between.
void remove_unused(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) throw ConfigError("cannot overwrite log: " + std::string(std::strerror(errno)), path);
  const bool used = lock_refused(fd, LOCK_EX);
  const bool failed = !used && unlink(path.c_str()) != 0;
  const int error = errno;
  close(fd);
  if (used) throw ConfigError("cannot overwrite log: another program has it open", path, "choose another output");
  if (failed) throw ConfigError("cannot overwrite log: " + std::string(std::strerror(error)), path);
}

}  // namespace

h5::Object create_output(const std::string& path, bool overwrite) {
  std::error_code error;  // not needed: what cannot be asked cannot be created either
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status)) {
    if (!std::filesystem::is_regular_file(status)) throw ConfigError("cannot create log: not a regular file", path);
    if (!overwrite) throw ConfigError("log exists", path, "--overwrite replaces it");
    remove_unused(path);
  }
  try {
    return h5::create_file(path);
  } catch (const IoError& failure) {
    throw ConfigError(failure.what(), "", "check the folder and its permissions");
  }
}

void start_swmr(const h5::Object& file) {
  h5::check(H5Fstart_swmr_write(file.id.get()), file.where);
  const int fd = descriptor(file);
  fcntl(fd, F_SETFD, FD_CLOEXEC);  // a child process must not keep the lock
  if (lock_refused(fd, LOCK_SH) || !names(file.where.file, fd)) {
    h5::fail(file.where, "another program has replaced it");
  }
}

void remove_output(const h5::Object& file) noexcept {
  try {
    if (names(file.where.file, descriptor(file))) unlink(file.where.file.c_str());
  } catch (const IoError&) {
    // The original failure is on its way to the user; an unfinished file stays behind.
  }
}

}  // namespace onebit::sim
