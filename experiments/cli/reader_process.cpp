#include "experiments/cli/reader_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "device/base/error.hpp"
#include "device/base/types.hpp"
#include "sim/log/read_check.hpp"

namespace onebit::experiments {
namespace {

constexpr const char* kReader = "--read-for-parent";
constexpr int kArguments = 5;  // program, kReader, process id of the parent, swmr, path

/// What a reader may use.
struct Limits {
  Index mebibytes;    ///< memory besides the program itself
  Index cpu_seconds;  ///< CPU time
  Index seconds;      ///< wall-clock time, even if the machine does other things meanwhile
};

/// Deflate compresses at most 1,032-fold, so a compressed file may take a long time to read for its size.
Limits limits_for(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  const Index mebibytes = error ? 0 : static_cast<Index>(size >> 20);
  const Index cpu = 8 + 2 * mebibytes;
  return {512 + 20 * mebibytes, cpu, 3 * cpu};
}

/// Owns the two ends of a pipe.
struct Pipe {
  std::array<int, 2> ends{-1, -1};

  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw IoError("cannot create a pipe", std::strerror(errno));
  }
  ~Pipe() {
    close(ends[0]);
    close_writing();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void close_writing() {
    if (ends[1] >= 0) close(std::exchange(ends[1], -1));
  }
};

/// How to start a reader: in a process group of its own, which Ctrl-C in the terminal does not reach, without blocked
/// or ignored signals, with the pipe as one stream and /dev/null as the others.
class Start {
 public:
  explicit Start(int out) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_adddup2(&files_, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
#if __GLIBC_PREREQ(2, 34)
    // Otherwise a file that another thread has open would stay locked as long as the reader runs.
    posix_spawn_file_actions_addclosefrom_np(&files_, STDERR_FILENO + 1);
#endif
    posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~Start() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  Start(const Start&) = delete;
  Start& operator=(const Start&) = delete;

  pid_t operator()(std::vector<std::string> words) const {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int error = posix_spawn(&child, "/proc/self/exe", &files_, &attributes_, arguments.data(), environ);
    if (error != 0) {
      throw IoError("cannot start a process that checks a file", words.back(), std::strerror(error));
    }
    return child;
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

/// Reads what a reader writes until the reader ends. Returns false if it does not end in time.
bool listen(int out, Index seconds, std::string& said) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd event{out, POLLIN, 0};
    const int ready = poll(&event, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
    if (ready == 0 && left <= 0) return false;
    if (ready <= 0) continue;  // a signal arrived, or one poll() was shorter than the time left
    std::array<char, 256> bytes{};
    const ssize_t count = read(out, bytes.data(), bytes.size());
    if (count == 0 || (count < 0 && errno != EINTR)) return true;
    if (count > 0) said.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

int status_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string why_not(int status, const std::string& said, const Limits& limits) {
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGXCPU)
    return "HDF5 did not finish reading it within " + std::to_string(limits.cpu_seconds) + " s of CPU time";
  if (signal != 0) {
    return "the process that checks it was killed by signal " + std::to_string(signal) + " while HDF5 was reading it";
  }
  if (!said.empty() || WEXITSTATUS(status) == 0) return said;
  return "the process that checks it ended with status " + std::to_string(WEXITSTATUS(status)) +
         " while HDF5 was reading it";
}

std::string check_in_reader(const std::string& path, bool swmr) {
  const Limits limits = limits_for(path);
  Pipe out;
  const pid_t child = Start(out.ends[1])({"onebit", kReader, std::to_string(getpid()), swmr ? "1" : "0", path});
  out.close_writing();
  std::string said;
  const bool ended = listen(out.ends[0], limits.seconds, said);
  if (!ended) kill(child, SIGKILL);
  const int status = status_of(child);
  return ended ? why_not(status, said, limits)
               : "HDF5 did not finish reading it within " + std::to_string(limits.seconds) + " s";
}

void limit(int resource, Index most) {
  const auto value = static_cast<rlim_t>(most);
  rlimit now{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) return;
  now.rlim_cur = std::min(value, now.rlim_max);
  setrlimit(static_cast<__rlimit_resource>(resource), &now);
}

/// Address space that this process has now, in bytes: libraries, and the reservations of sanitizers.
Index own_bytes() {
  Index pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<Index>(sysconf(_SC_PAGESIZE));
}

void set_limits(const Limits& limits) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, limits.cpu_seconds);
  limit(RLIMIT_AS, own_bytes() + (limits.mebibytes << 20));
}

/// Does not throw: memory may be short.
void write_reason(const std::string& text) {
  [[maybe_unused]] const ssize_t ignored = write(STDOUT_FILENO, text.data(), text.size());
}

}  // namespace

void check_files_in_readers() {
  sim::set_read_check(check_in_reader);
}

bool is_reader(int argc, char** argv) {
  return argc == kArguments && std::strcmp(argv[1], kReader) == 0;
}

int read_for_parent(char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != std::atoi(argv[2])) return EXIT_FAILURE;  // the parent has ended already
  const std::string path = argv[4];
  const Limits limits = limits_for(path);
  const std::string too_large = "HDF5 needs more than " + std::to_string(limits.mebibytes) + " MiB to read it";
  set_limits(limits);
  try {
    sim::read_everything(path, argv[3] == std::string("1"));
  } catch (const std::bad_alloc&) {
    write_reason(too_large);
  } catch (const std::exception&) {
    write_reason("HDF5 cannot list what it contains");
  }
  _exit(EXIT_SUCCESS);  // what HDF5 or a sanitizer would do at the end says nothing about the file
}

}  // namespace onebit::experiments
