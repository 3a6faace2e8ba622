#include "sim/log/read_check.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "device/base/error.hpp"

namespace onebit::sim {
namespace {

/// Names one state of a file: device, inode, size, and time of the last change in seconds and nanoseconds.
using State = std::tuple<dev_t, ino_t, off_t, time_t, long>;

/// The check, and its answers.
struct Checked {
  ReadCheck check;
  std::mutex mutex;
  std::map<State, std::string> answers;
};

Checked& checked() {
  static Checked all;
  return all;
}

/// Returns the path without links: /dev/stdin would be another file in another process.
std::string place_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::path place = std::filesystem::canonical(path, error);
  return error ? path : place.string();
}

std::string answer_for(const std::string& path, bool swmr) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return "";  // opening it gives the reason
  Checked& all = checked();
  const State state{file.st_dev, file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
  {
    const std::lock_guard lock(all.mutex);
    const auto known = all.answers.find(state);
    if (known != all.answers.end()) return known->second;
  }
  const std::string answer = all.check(place_of(path), swmr);
  const std::lock_guard lock(all.mutex);
  return all.answers.emplace(state, answer).first->second;
}

}  // namespace

void set_read_check(ReadCheck check) {
  checked().check = std::move(check);
}

void require_readable(const std::string& path, bool swmr, const std::string& kind) {
  if (!checked().check) return;
  const std::string why = answer_for(path, swmr);
  if (why.empty()) return;
  throw ConfigError("cannot read " + kind + ": " + why, path,
                    "the file may be damaged: restore it from a copy, or make it again");
}

}  // namespace onebit::sim
