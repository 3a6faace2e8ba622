#include "analysis/pictures/gnuplot.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::analysis {
namespace {

[[noreturn]] void fail() {
  throw IoError("cannot run gnuplot: " + std::string(std::strerror(errno)), "pictures",
                "the system may have run out of memory or processes");
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

/// Starts gnuplot, without a shell. Returns 0 if it cannot be started.
pid_t start(const char* option, const Memory& in, const Memory& out) {
  std::string name = "gnuplot", word = option;
  char* arguments[] = {name.data(), word.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? child : 0;
}

void end(pid_t child) {
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
}

/// Waits until a child ends, and kills it once the time limit has expired or a signal has reached this program. Returns
/// what went wrong; empty if the child succeeded. After a signal to stop, this program must not wait for a picture.
std::string wait_for(pid_t child, std::chrono::milliseconds limit) {
  const auto latest = std::chrono::steady_clock::now() + limit;
  const timespec pause{0, 1'000'000};  // a picture takes some tens of milliseconds
  bool interrupted = false;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) != child) {
    const bool late = std::chrono::steady_clock::now() > latest;
    if (late || interrupted) {
      end(child);
      if (interrupted) return "it was stopped by a signal";
      return "it did not end within " + shortest(std::chrono::duration<double>(limit).count()) + " seconds";
    }
    interrupted = nanosleep(&pause, nullptr) != 0;
  }
  if (WIFSIGNALED(status)) return "it was killed by signal " + std::to_string(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : "it ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

bool has_gnuplot() {
  const Memory nothing, version;
  const pid_t child = start("--version", nothing, version);
  return child > 0 && wait_for(child, kGnuplotLimit).empty();
}

std::string gnuplot_picture(const std::string& script, std::chrono::milliseconds limit) {
  const Memory in, out;
  in.write(script);
  const pid_t child = start("-d", in, out);  // -d: ignore the user's startup files, which may set an output
  std::string problem = child > 0 ? wait_for(child, limit) : "it cannot be started";
  std::string picture = out.read();
  if (problem.empty() && picture.empty()) problem = "its output is empty";
  if (!problem.empty())
    throw IoError("gnuplot drew no picture: " + problem, "pictures",
                  "try gnuplot by itself; without it, pages have no still pictures");
  return picture;
}

}  // namespace onebit::analysis
