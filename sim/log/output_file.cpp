#include "sim/log/output_file.hpp"

#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "sim/log/descriptor.hpp"
#include "sim/log/read_check.hpp"
#include "sim/log/superblock.hpp"

namespace onebit::sim {
namespace {

int descriptor(const h5::Object& file) {
  void* handle = nullptr;
  h5::check(H5Fget_vfd_handle(file.id.get(), H5P_DEFAULT, &handle), file.where);
  return *static_cast<int*>(handle);
}

namespace fs = std::filesystem;

constexpr const char* kLogHint = "--overwrite replaces it; `onebit run --resume` continues it";

bool names(const std::string& path, int fd) {
  struct stat by_path {};
  struct stat by_fd {};
  return stat(path.c_str(), &by_path) == 0 && fstat(fd, &by_fd) == 0 && by_path.st_ino == by_fd.st_ino &&
         by_path.st_dev == by_fd.st_dev;
}

// On file systems without locks, flock fails with other errors; there, users must keep writers apart themselves.
bool lock_refused(int fd, int kind) {
  return flock(fd, kind | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/// If the writer of a log could not extend the file, extends it to the length that its superblock states, as HDF5
/// demands.
void restore_length(int fd, const std::string& path) {
  const Superblock superblock = read_superblock(path);
  if (superblock.is_truncated() && ftruncate(fd, static_cast<off_t>(superblock.end)) != 0) {
    h5::fail({h5::Access::write, path}, std::strerror(errno));
  }
}

/// Whether the file exists and may be replaced. Throws ConfigError if it exists and must not be replaced.
bool replaces(const std::string& path, bool overwrite, const char* hint = "--overwrite replaces it") {
  std::error_code error;  // ignored: if this fails, creating the file fails too
  if (!fs::exists(files::output_place(path), error)) return false;
  if (!overwrite) throw ConfigError("log exists", path, hint);
  return true;
}

}  // namespace

// Holds the lock while the name is replaced, so that no writer can start in between.
void replace_unused(const std::string& path, const std::function<int()>& replace) {
  const Descriptor own(path, O_RDWR);
  if (own.get() < 0) throw ConfigError("cannot overwrite log: " + std::string(std::strerror(errno)), path);
  if (lock_refused(own.get(), LOCK_EX) || !names(path, own.get())) {
    throw ConfigError("cannot overwrite log: another program has it open", path,
                      "wait until it ends, or name another output");
  }
  if (replace() != 0) throw ConfigError("cannot overwrite log: " + std::string(std::strerror(errno)), path);
}

std::string part_of(const std::string& path) {
  return path + ".part";
}

void check_replaceable(const std::string& path, bool overwrite) {
  if (replaces(path, overwrite)) replace_unused(path, [] { return 0; });
}

h5::Object create_part(const std::string& path, h5::Space space) {
  std::error_code error;  // ignored: if this fails, creating the file fails too
  if (fs::is_symlink(path, error)) fs::remove(path, error);
  if (replaces(path, true)) replace_unused(path, [&] { return unlink(path.c_str()); });
  try {
    return h5::create_file(path, "log", 0, space);
  } catch (const IoError& failure) {
    throw ConfigError(failure.what(), "", "check the folder and its permissions");
  }
}

h5::Object create_unnamed(const std::string& path, bool overwrite) {
  replaces(path, overwrite, kLogHint);
  h5::Object file = create_part(part_of(path), h5::Space::paged);
  file.where.file = path;
  return file;
}

// Unlike a rename, a link never replaces a file that another program has created in the meantime.
void give_name(const h5::Object& file, bool overwrite) {
  const std::string& path = file.where.file;
  const std::string part = part_of(path);
  if (!names(part, descriptor(file))) h5::fail(file.where, "another program has replaced it");
  if (replaces(path, overwrite, kLogHint)) {
    return replace_unused(path, [&] { return rename(part.c_str(), path.c_str()); });
  }
  if (link(part.c_str(), path.c_str()) != 0) {
    const int error = errno;
    if (error == EEXIST) replaces(path, false, kLogHint);
    const bool no_links = error == EPERM || error == EOPNOTSUPP || error == ENOSYS;
    if (!no_links || rename(part.c_str(), path.c_str()) != 0) {
      throw ConfigError("cannot create log: " + std::string(std::strerror(no_links ? errno : error)), path);
    }
  } else {
    unlink(part.c_str());
  }
}

void synchronize_file(const h5::Object& file) {
  if (fsync(descriptor(file)) != 0) h5::fail(file.where, std::strerror(errno));
}

h5::Object open_output(const std::string& path) {
  require_readable(path, true, "log");  // before the file is locked, because the check could not open a locked file
  const Descriptor own(path, O_RDWR);
  if (own.get() < 0) throw ConfigError("cannot continue log: " + std::string(std::strerror(errno)), path);
  const auto refuse = [&] {
    throw ConfigError("cannot continue log: another program has it open", path, "wait until it ends, or stop it");
  };
  for (int tries = 20; lock_refused(own.get(), LOCK_EX);) {  // another program may be reading it right now
    if (--tries == 0) refuse();
    usleep(100'000);
  }
  if (!names(path, own.get())) refuse();
  restore_length(own.get(), path);
  h5::Object file = h5::open_again(path);
  fcntl(descriptor(file), F_SETFD, FD_CLOEXEC);
  // From here on others may read. If a writer gets in between the two locks, it wins and this program gives up.
  if (lock_refused(own.get(), LOCK_SH) || lock_refused(descriptor(file), LOCK_SH)) refuse();
  return file;
}

SharedLock::SharedLock(const std::string& path) : own_(path, O_RDONLY) {
  if (own_.get() < 0 || lock_refused(own_.get(), LOCK_SH) || !names(path, own_.get())) {
    throw ConfigError("cannot use log: another program has it open", path, "wait until it ends, or name another log");
  }
}

void start_swmr(const h5::Object& file) {
  h5::check(H5Fstart_swmr_write(file.id.get()), file.where);
  const int fd = descriptor(file);
  fcntl(fd, F_SETFD, FD_CLOEXEC);  // a child process must not keep the lock
  if (lock_refused(fd, LOCK_SH)) h5::fail(file.where, "another program has it open");
}

ClosedLog::ClosedLog(const h5::Object& file) : own_(file.where.file, O_RDWR), path_(file.where.file) {
  if (own_.get() < 0) fail(std::strerror(errno));
  if (lock_refused(own_.get(), LOCK_SH) || !names(path_, own_.get()) || !names(path_, descriptor(file)))
    fail("another program has replaced it");
}

void ClosedLog::fail(const std::string& why) const {
  h5::fail({h5::Access::write, path_}, why);
}

void ClosedLog::write(Index place, const std::string& bytes) const {
  std::string there(bytes.size(), '\0');
  if (!own_.write_at(bytes.data(), bytes.size(), place) || fsync(own_.get()) != 0 ||
      own_.read_at(there.data(), there.size(), place) < 0) {
    fail(std::strerror(errno));
  }
  if (there != bytes) fail("its contents differ from what was written; the disk may be failing");
}

void remove_output(const h5::Object& file) noexcept {
  if (file.id.get() < 0) {  // no descriptor is left to compare the name with
    unlink(file.where.file.c_str());
    return;
  }
  try {
    for (const std::string& path : {file.where.file, part_of(file.where.file)}) {
      if (names(path, descriptor(file))) unlink(path.c_str());
    }
  } catch (const IoError&) {
    // The original failure is already being reported; an unfinished file remains.
  }
}

}  // namespace onebit::sim
