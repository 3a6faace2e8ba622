#include "experiments/sweep/lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "experiments/sweep/files.hpp"

namespace onebit::experiments {
namespace {

using files::host_name;

/// Returns the text of a file. Empty if there is no such file or it cannot be read now: a process may end, and a file
/// system may fail temporarily.
std::string text_or_nothing(const std::string& path) {
  try {
    return file_text(path);
  } catch (const Error&) {
    return "";
  }
}

/// Returns the kernel's start time of a process, which distinguishes it from other processes with the same id. Empty if
/// the process has ended.
std::string start_of(long process) {
  const std::string text = text_or_nothing("/proc/" + std::to_string(process) + "/stat");
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string state, field;
  fields >> state;
  for (int i = 0; i < 19; ++i) fields >> field;  // to the 22nd field; number, name and state are the first three
  return fields && state != "Z" ? field : "";
}

struct Holder {
  std::string host;
  long process = 0;
  std::string start;
};

Holder parse_holder(const std::string& text) {
  Holder holder;
  std::istringstream words(text);
  words >> holder.host >> holder.process >> holder.start;
  return holder;
}

/// Returns the seconds since the file was touched. The current time is read from a new file, because the clock
/// of a file system may differ from that of the machine.
double silence_of(const std::string& path) {
  const std::string probe = path + ".clock-" + host_name() + "-" + std::to_string(getpid());
  const int fd = files::create_new(probe);
  struct stat now {};
  struct stat then {};
  const bool known = fd >= 0 && fstat(fd, &now) == 0 && stat(path.c_str(), &then) == 0;
  if (fd >= 0) close(fd);
  unlink(probe.c_str());
  return known ? static_cast<double>(now.st_mtime - then.st_mtime) : 0;
}

bool is_stale(const std::string& path, const Holder& holder) {
  if (holder.host == host_name()) return start_of(holder.process) != holder.start;
  return silence_of(path) > std::chrono::duration<double>(FolderLock::kSilence).count();
}

/// Removes a stale lock; puts the file back if another program has replaced it in the meantime.
void remove_stale(const std::string& path, const std::string& text) {
  const std::string aside = path + ".stale-" + host_name() + "-" + std::to_string(getpid());
  if (rename(path.c_str(), aside.c_str()) != 0) return;
  if (text_or_nothing(aside) != text && link(aside.c_str(), path.c_str()) != 0) {
    throw ConfigError("two sweeps tried to start in this folder at the same time", path, "start one of them again");
  }
  unlink(aside.c_str());
}

}  // namespace

FolderLock::FolderLock(const std::string& folder, const std::string& shard)
    : path_(folder + "/lock-" + shard),
      text_(host_name() + " " + std::to_string(getpid()) + " " + start_of(getpid()) + "\n") {
  std::replace(path_.begin() + static_cast<long>(folder.size()) + 1, path_.end(), '/', '-');
  while (!create_file(path_, text_)) {
    const std::string other = text_or_nothing(path_);
    if (other.empty() && access(path_.c_str(), F_OK) != 0) continue;  // just released
    const Holder holder = parse_holder(other);
    if (!is_stale(path_, holder)) {
      throw ConfigError("another sweep is running in this folder",
                        path_ + ": process " + std::to_string(holder.process) + " on " + holder.host,
                        "wait for it, stop it, or give another --shard; if it is no longer running, remove the file");
    }
    remove_stale(path_, other);
  }
}

FolderLock::~FolderLock() {
  if (text_or_nothing(path_) == text_) unlink(path_.c_str());
}

void FolderLock::beat() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kHeartbeat) return;
  last_ = now;
  const std::string text = text_or_nothing(path_);
  const bool unreadable = text.empty() && access(path_.c_str(), F_OK) == 0;
  if (text != text_ && !unreadable) throw ConfigError("another sweep has taken over this folder", path_);
  utimensat(AT_FDCWD, path_.c_str(), nullptr, 0);
}

}  // namespace onebit::experiments
