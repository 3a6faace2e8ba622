#include "device/base/system.hpp"

#include <unistd.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace onebit::device {
namespace {

constexpr Index kUnknown = std::numeric_limits<Index>::max();

/// The number after `word` in a file, or the first one if `word` is empty; kUnknown if there is none.
Index number_in(const std::string& path, const std::string& word = "") {
  std::ifstream file(path);
  std::string text;
  while (!word.empty() && file >> text && text != word) continue;
  Index number = 0;
  return file >> number ? number : kUnknown;
}

/// Returns the memory that a control group has left: its limit minus the memory of its programs, without caches.
Index left_in_group(const std::string& limit_file, const std::string& stat_file, const std::string& taken_word) {
  const Index limit = number_in(limit_file), taken = number_in(stat_file, taken_word);
  return limit == kUnknown || taken == kUnknown ? kUnknown : std::max<Index>(0, limit - taken);
}

}  // namespace

ResidentMemory resident_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  std::ifstream file("/proc/self/statm");
  Index size = 0, resident = 0, shared = 0;
  file >> size >> resident >> shared;
  const Index page = ::sysconf(_SC_PAGESIZE);
  return {(resident - shared) * page, shared * page};
}

Index available_memory() {
  const Index kilobytes = number_in("/proc/meminfo", "MemAvailable:");
  const Index free = kilobytes == kUnknown ? kUnknown : kilobytes * 1024;
  const std::string group = "/sys/fs/cgroup/";
  return std::min({free, left_in_group(group + "memory.max", group + "memory.stat", "anon"),
                   left_in_group(group + "memory/memory.limit_in_bytes", group + "memory/memory.stat", "total_rss")});
}

std::string processor_name() {
  std::ifstream facts("/proc/cpuinfo");
  for (std::string line; std::getline(facts, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

std::string devices_text(const std::string& devices, Index threads) {
  const std::string name = processor_name();
  return devices + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads") +
         (name.empty() ? "" : " of " + name);
}

}  // namespace onebit::device
