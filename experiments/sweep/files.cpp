#include "experiments/sweep/files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "device/base/error.hpp"
#include "device/base/files.hpp"

namespace onebit::experiments {
namespace {

namespace fs = std::filesystem;

constexpr Index kMostWritten = Index{1} << 30;  // largest size in bytes of a text that this program writes itself

[[noreturn]] void fail(const std::string& path) {
  throw IoError("cannot write file: " + std::string(std::strerror(errno)), path);
}

}  // namespace

std::string file_text(const std::string& path) {
  return fs::exists(path) ? files::read_text(path, "file", "", kMostWritten) : "";
}

void write_table_file(const std::string& path, std::string_view format, const std::vector<sim::TableColumn>& columns) {
  files::replace(path, [&](const std::string& part) { sim::write_table(part, format, 1, columns); });
}

// Only one of several programs succeeds in making a hard link, even on NFS.
bool create_file(const std::string& path, const std::string& text) {
  const std::string part = files::temporary_name(path);
  int error = 0;
  try {
    files::write_new(part, text);
    if (link(part.c_str(), path.c_str()) != 0) error = errno;
  } catch (...) {
    unlink(part.c_str());
    throw;
  }
  unlink(part.c_str());
  errno = error;
  if (error != 0 && error != EEXIST) fail(path);
  if (error == 0) files::synchronize_folder_of(path);
  return error == 0;
}

void remove_leftovers(const std::string& folder) {
  const std::string mark = std::string(".").append(files::host_name()).append("-");
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const std::size_t host = name.rfind(mark);
    if (!name.ends_with(".part") || host == std::string::npos) continue;
    const long process = std::strtol(name.c_str() + host + mark.size(), nullptr, 10);
    std::error_code gone;
    if (process > 0 && !fs::exists("/proc/" + std::to_string(process), gone)) fs::remove(entry.path(), gone);
  }
}

}  // namespace onebit::experiments
