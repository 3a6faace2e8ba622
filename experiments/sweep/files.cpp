#include "experiments/sweep/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "device/error.hpp"

namespace onebit::experiments {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path) {
  throw IoError("cannot write file: " + std::string(std::strerror(errno)), path);
}

/// What is in the file, or which names are in the folder, is on the disk from here on.
void synchronize(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool failed = fd < 0 || fsync(fd) != 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  errno = error;
  if (failed) fail(path);
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// A name that no other program uses: beside the file, so that it can be renamed to it.
std::string temporary_name(const std::string& path) {
  return path + "." + host_name() + "-" + std::to_string(getpid()) + ".part";
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  if (!file.flush()) fail(path);
}

void replace(const std::string& path, const std::function<void(const std::string&)>& write, bool sync) {
  const std::string part = temporary_name(path);
  try {
    write(part);
    if (sync) synchronize(part);
    if (rename(part.c_str(), path.c_str()) != 0) fail(path);
  } catch (...) {
    unlink(part.c_str());
    throw;
  }
  if (sync) synchronize(folder_of(path));
}

}  // namespace

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();  // unlike iterators, no exception where reading fails
  return text.str();
}

void write_file(const std::string& path, const std::string& text) {
  replace(
      path, [&](const std::string& part) { write_text(part, text); }, false);
}

void replace_file(const std::string& path, const std::function<void(const std::string&)>& write) {
  replace(path, write, true);
}

void replace_file(const std::string& path, const std::string& text) {
  replace_file(path, [&](const std::string& part) { write_text(part, text); });
}

// A hard link is made by one of several programs alone, also on NFS.
bool create_file(const std::string& path, const std::string& text) {
  const std::string part = temporary_name(path);
  write_text(part, text);
  synchronize(part);
  const bool failed = link(part.c_str(), path.c_str()) != 0;
  const int error = errno;
  unlink(part.c_str());
  errno = error;
  if (failed && error != EEXIST) fail(path);
  if (!failed) synchronize(folder_of(path));
  return !failed;
}

void remove_leftovers(const std::string& folder) {
  const std::string mark = std::string(".").append(host_name()).append("-");
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const std::size_t host = name.rfind(mark);
    if (!name.ends_with(".part") || host == std::string::npos) continue;
    const long process = std::strtol(name.c_str() + host + mark.size(), nullptr, 10);
    std::error_code gone;
    if (process > 0 && !fs::exists("/proc/" + std::to_string(process), gone)) fs::remove(entry.path(), gone);
  }
}

std::string host_name() {
  char text[256] = "";
  gethostname(text, sizeof text - 1);
  return text;
}

}  // namespace onebit::experiments
