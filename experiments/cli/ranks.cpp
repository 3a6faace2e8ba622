#include "experiments/cli/ranks.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string_view>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "experiments/cli/progress.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/cli/window.hpp"
#include "experiments/output/screen.hpp"

namespace onebit::experiments {
namespace {

constexpr int kNotStarted = 127;
constexpr std::string_view kProgressEnd = "\033[K\r";  // ends what ProgressLine writes

std::atomic<pid_t> mpirun{0};
std::atomic<int> stops{0};

/// mpirun forwards SIGUSR1 to the ranks, which take it as a request to stop; on SIGTERM it kills them.
extern "C" void forward_stop(int) {
  const int error = errno;
  kill(mpirun.load(), stops.fetch_add(1) == 0 ? SIGUSR1 : SIGTERM);
  errno = error;
}

std::vector<std::string> command_of(Index ranks, const std::vector<std::string>& arguments) {
  const char* given = std::getenv("ONEBIT_MPIRUN");
  std::vector<std::string> command = split(given != nullptr ? given : "mpirun", ' ');
  for (const char* option : {"--oversubscribe", "--bind-to", "none"}) command.emplace_back(option);
  if (geteuid() == 0) command.emplace_back("--allow-run-as-root");
  command.insert(command.end(),
                 {"-n", std::to_string(ranks), std::filesystem::read_symlink("/proc/self/exe").string()});
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

/// Turns this child process into mpirun, in a process group of its own that Ctrl-C in the terminal does not reach.
[[noreturn]] void become(const std::vector<std::string>& command, int errors) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // Makes a waiting rank yield its core. Otherwise each exchange would wait for the end of a time slice whenever
  // another program, such as a compiler, runs at the same time.
  setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  if (isatty(STDERR_FILENO) == 1) setenv(kPassedOnVariable, "1", 1);
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0) {
    execvp(words[0], words.data());
  }
  _exit(kNotStarted);
}

/// Splits mpirun's stderr: passes on what the ranks write, and keeps mpirun's own messages, which are enclosed in lines
/// of dashes.
class Report {
 public:
  struct Death {
    int rank = 0, signal = 0;
  };

  void take(const std::string& bytes) {
    text_ += bytes;
    for (std::size_t end = 0; (end = text_.find_first_of("\r\n")) != std::string::npos;) {
      take_line(text_.substr(0, end + 1));
      text_.erase(0, end + 1);
    }
  }
  void end() {
    take_line(std::exchange(text_, ""));
    if (open_) std::cerr << "\n";
  }

  const std::optional<Death>& death() const { return death_; }
  /// Returns mpirun's first message that is not about how the ranks ended; empty if there is none.
  const std::string& complaint() const { return complaint_; }
  /// Returns whether the ranks have written anything.
  bool said() const { return said_; }

 private:
  void take_line(const std::string& line) {
    static const std::string rule(74, '-');
    const std::size_t ruled = line.find(rule);
    if (ruled != std::string::npos) {
      if (!in_message_) pass_on(line.substr(0, ruled));  // a progress line has no line end
      if (in_message_) take_message(std::exchange(message_, ""));
      in_message_ = !in_message_;
    } else if (in_message_) {
      message_ += line;
    } else if (!line.starts_with("mpirun: Forwarding signal")) {
      pass_on(line);
    }
  }

  void pass_on(const std::string& line) {
    if (line.empty()) return;
    std::cerr << (line.ends_with(kProgressEnd) ? fitted(line) : line) << std::flush;
    said_ = true;
    open_ = line.back() != '\n' && line.back() != '\r';
  }

  /// Cuts a progress line to the terminal's width, which a rank does not know.
  static std::string fitted(const std::string& line) {
    const std::string text = line.substr(0, line.size() - kProgressEnd.size());
    const auto room = static_cast<std::size_t>(std::max<Index>(window_columns(STDERR_FILENO), 1) - 1);
    return std::string(room > 0 ? shortened(text, room) : text).append(kProgressEnd);
  }

  void take_message(const std::string& message) {
    Death death;
    const std::size_t at = message.find("process rank ");
    if (at != std::string::npos &&
        std::sscanf(message.c_str() + at, "process rank %d with PID %*d on node %*s exited on signal %d", &death.rank,
                    &death.signal) == 2) {
      if (!death_) death_ = death;
      return;
    }
    const bool of_the_end = message.find("non-zero") != std::string::npos;
    if (complaint_.empty() && !of_the_end) complaint_ = one_line(message);
  }

  static std::string one_line(const std::string& message) {
    std::string line;
    for (const char c : message) {
      const bool space = static_cast<unsigned char>(c) <= ' ';
      if (!space || (!line.empty() && line.back() != ' ')) line += space ? ' ' : c;
    }
    if (!line.empty() && line.back() == ' ') line.pop_back();
    return line;
  }

  std::string text_, message_, complaint_;
  bool in_message_ = false, said_ = false;
  bool open_ = false;  ///< whether the last text that was passed on lacks a line end
  std::optional<Death> death_;
};

/// Starts mpirun and returns the descriptor from which to read its stderr.
int start(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error("cannot create a pipe", "mpirun");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw Error("cannot create a process", "mpirun");
  if (child == 0) become(command, ends[1]);
  close(ends[1]);
  mpirun.store(child);
  struct sigaction action = {};
  action.sa_handler = forward_stop;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return ends[0];
}

void read_all(int errors, Report& report) {
  char bytes[4096];
  for (;;) {
    const ssize_t count = read(errors, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    report.take({bytes, static_cast<std::size_t>(count)});
  }
  report.end();
  close(errors);
}

int wait_for_mpirun() {
  int status = 0;
  while (waitpid(mpirun.load(), &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// Returns the exit status of the ranks. Throws if one of them or mpirun died, or if they did not start.
int outcome(int status, const Report& report, const std::string& program) {
  const bool stopping = stops.load() > 0;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (report.death() && !(stopping && report.death()->signal == SIGUSR1)) {
    throw Error("rank " + std::to_string(report.death()->rank) + " died (signal " +
                    std::to_string(report.death()->signal) + ")",
                "", "the log holds everything written up to its last flush");
  }
  if (stopping && code != kExitDone) return kExitStopped;
  if (code == kNotStarted) {
    throw ConfigError("cannot start mpirun", program,
                      "install Open MPI (Debian: openmpi-bin), or set ONEBIT_MPIRUN to the command that starts it");
  }
  if (code < 0) throw Error("mpirun died (signal " + std::to_string(WTERMSIG(status)) + ")", program);
  if (code != kExitDone && !report.complaint().empty()) throw Error("mpirun failed", report.complaint());
  if (code != kExitDone && code != kExitStopped && !report.said()) {
    throw Error("a rank failed before it had joined the others (status " + std::to_string(code) + ")", "",
                "check that onebit and its MPI plugin are on every machine");
  }
  return code;
}

}  // namespace

int run_ranks(Index ranks, const std::vector<std::string>& arguments) {
  const std::vector<std::string> command = command_of(ranks, arguments);
  Report report;
  read_all(start(command), report);
  return outcome(wait_for_mpirun(), report, command.front());
}

}  // namespace onebit::experiments
