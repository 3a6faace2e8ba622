#include "sim/log/read_check.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "device/base/error.hpp"
#include "sim/log/log_state.hpp"
#include "sim/log/superblock.hpp"

namespace onebit::sim {
namespace {

/// The check, and its results.
struct Checked {
  ReadCheck check;
  std::mutex mutex;
  std::map<FileState, std::string> answers;
};

Checked& checked() {
  static Checked all;
  return all;
}

/// Returns the path with links resolved, because /dev/stdin would be a different file in another process.
std::string place_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::path place = std::filesystem::canonical(path, error);
  return error ? path : place.string();
}

std::string answer_for(const std::string& path, bool swmr) {
  const std::optional<FileState> state = state_of(path);
  if (!state) return "";  // opening it reports the reason
  Checked& all = checked();
  {
    const std::lock_guard lock(all.mutex);
    const auto known = all.answers.find(*state);
    if (known != all.answers.end()) return known->second;
  }
  const std::string answer = all.check(place_of(path), swmr);
  const std::lock_guard lock(all.mutex);
  return all.answers.emplace(*state, answer).first->second;
}

/// Checks a file that is opened as readers of logs open it.
void check(const std::string& path) {
  try {
    answer_for(path, read_superblock(path).being_written);
  } catch (const std::exception&) {
    // Opening the file will report it.
  }
}

}  // namespace

void set_read_check(ReadCheck check) {
  checked().check = std::move(check);
}

void note_readable(const std::string& path) {
  const std::optional<FileState> state = state_of(path);
  if (!state) return;
  const std::lock_guard lock(checked().mutex);
  checked().answers.insert_or_assign(*state, "");
}

void check_ahead(std::span<const std::string> paths) {
  constexpr std::size_t most = 16;  // each check may take 512 MiB
  if (!checked().check) return;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  const auto work = [&] {
    for (std::size_t i = next++; i < paths.size(); i = next++) check(paths[i]);
  };
  try {
    for (std::size_t t = 0; t < std::min({paths.size(), cores, most}); ++t) threads.emplace_back(work);
  } catch (const std::system_error&) {
    // The system cannot start more threads. Those that have started check all files; if none has started, files are
    // checked when they are opened.
  }
}

void require_readable(const std::string& path, bool swmr, const std::string& kind) {
  if (!checked().check) return;
  const std::string why = answer_for(path, swmr);
  if (why.empty()) return;
  throw ConfigError("cannot read " + kind + ": " + why, path,
                    "the file may be damaged: restore it from a copy, or make it again");
}

}  // namespace onebit::sim
