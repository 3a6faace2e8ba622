#include "analysis/pictures/gnuplot.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "device/base/error.hpp"

namespace onebit::analysis {
namespace {

[[noreturn]] void fail() {
  throw IoError("cannot run gnuplot: " + std::string(std::strerror(errno)));
}

/// An unnamed file in memory.
class Memory {
 public:
  Memory() : descriptor_(memfd_create("onebit-plot", MFD_CLOEXEC)) {
    if (descriptor_ < 0) fail();
  }
  ~Memory() { close(descriptor_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  int descriptor() const { return descriptor_; }

  void write(const std::string& text) const {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t count = pwrite(descriptor_, text.data() + done, text.size() - done, static_cast<off_t>(done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) fail();
      done += static_cast<std::size_t>(count);
    }
  }

  std::string read() const {
    std::string text;
    char piece[1 << 16];
    while (true) {
      const ssize_t count = pread(descriptor_, piece, sizeof piece, static_cast<off_t>(text.size()));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail();
      if (count == 0) return text;
      text.append(piece, static_cast<std::size_t>(count));
    }
  }

 private:
  int descriptor_;
};

/// Runs a program and returns its exit status; 127 where it cannot be started, 128 where it did not exit by itself.
int run(std::initializer_list<const char*> words, const Memory& in, const Memory& out) {
  std::vector<char*> arguments;
  for (const char* word : words) arguments.push_back(const_cast<char*>(word));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return 127;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail();
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

}  // namespace

bool has_gnuplot() {
  const Memory nothing, version;
  return run({"gnuplot", "--version"}, nothing, version) == 0;
}

std::string gnuplot_picture(const std::string& script) {
  const Memory in, out;
  in.write(script);
  // -d: ignore the user's startup files, which may set an output.
  const int status = run({"gnuplot", "-d"}, in, out);
  std::string picture = out.read();
  if (status != 0 || picture.empty()) throw IoError("gnuplot wrote no picture");
  return picture;
}

}  // namespace onebit::analysis
