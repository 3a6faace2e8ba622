#pragma once
// Runs programs as a user would: arguments in; exit status, stdout and stderr out.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/sim/log_fixture.hpp"

namespace onebit::tests {

using Arguments = std::vector<std::string>;

struct Outcome {
  int status = -1;  ///< exit status; 128 + signal where one ended it
  std::string out, err;
  double peak_bytes = 0;  ///< its most resident memory by the system (VmHWM), asked every few milliseconds
};

/// A program that runs in `folder`. Killed at the end if it still runs.
class Process {
 public:
  Process(const std::string& folder, const Arguments& command) {
    std::fflush(nullptr);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) become(folder, command);
  }
  ~Process() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void send(int signal) const {
    if (pid_ > 0) kill(pid_, signal);
  }

  /// It has stopped itself (SIGSTOP).
  bool stopped() const {
    siginfo_t info = {};
    return pid_ > 0 && waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOWAIT | WNOHANG) == 0 &&
           info.si_pid == pid_;
  }

  bool running() {
    int status = 0;
    watch_memory();
    if (pid_ <= 0 || waitpid(pid_, &status, WNOHANG) == 0) return pid_ > 0;
    pid_ = 0;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return false;
  }

  /// Polls until `done`, the end of the program, or a minute has passed. What `done` said last.
  bool poll(const std::function<bool()>& done, std::chrono::seconds limit = std::chrono::seconds(60)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!done()) {
      if (!running() || std::chrono::steady_clock::now() > end) return done();
      usleep(3000);
    }
    return true;
  }

  /// Waits for the end. Fails the test where it does not come.
  Outcome finish() {
    if (!poll([this] { return !running(); }, std::chrono::seconds(240))) FAIL("the program does not end");
    return {status_, read_file(streams_ / "out"), without_hwloc(read_file(streams_ / "err")), peak_bytes_};
  }

 private:
  /// The system's own figure, which ends with the process: that of wait4 begins with this program's memory.
  void watch_memory() {
    const std::string process = "/proc/" + std::to_string(pid_);
    std::error_code gone;
    if (std::filesystem::equivalent(process + "/exe", "/proc/self/exe", gone) || gone) return;  // not begun, or ended
    std::ifstream file(process + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("VmHWM:")) peak_bytes_ = 1024 * std::stod(line.substr(6));
    }
  }

  /// What the program wrote, without the lines of MPI's hwloc, which complains by itself where there is no /sys.
  static std::string without_hwloc(const std::string& text) {
    std::string kept;
    std::stringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("hwloc")) kept += line + (lines.eof() ? "" : "\n");
    }
    return kept;
  }

  [[noreturn]] void become(const std::string& folder, const Arguments& command) const {
    const int out = open((streams_ / "out").c_str(), O_WRONLY | O_CREAT, 0600);
    const int err = open((streams_ / "err").c_str(), O_WRONLY | O_CREAT, 0600);
    const int in = open("/dev/null", O_RDONLY);
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    setenv("OMP_WAIT_POLICY", "passive", 0);  // several tests share the cores: do not spin
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 || chdir(folder.c_str()) != 0) _exit(126);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }

  Folder streams_;  ///< what it prints goes here, so that the working folder shows what it leaves behind
  pid_t pid_ = 0;
  int status_ = -1;
  double peak_bytes_ = 0;
};

inline Arguments joined(Arguments first, const Arguments& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

inline Outcome run_in(const Folder& folder, const Arguments& command) {
  return Process(folder / "", command).finish();
}

/// `onebit` with arguments, in a folder.
inline Arguments onebit_command(const Arguments& arguments) {
  return joined({ONEBIT_PROGRAM}, arguments);
}
inline Outcome run_onebit(const Folder& folder, const Arguments& arguments) {
  return run_in(folder, onebit_command(arguments));
}

/// Options of a run that takes an instant.
inline Arguments tiny_run(const std::string& command, const Arguments& more = {}) {
  return joined(
      {command, "--model",         "mlp", "--model.layers", "4,5,3", "--data",          "synthetic", "--threads",
       "1",     "--data.features", "4",   "--data.classes", "3",     "--data.examples", "200",       "--workers",
       "2",     "--batch",         "2",   "--steps",        "6",     "--optimizer",     "adam"},
      more);
}

/// Everything in a folder.
inline std::set<std::string> entries(const Folder& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "")) {
    names.insert(entry.path().string());
  }
  return names;
}

/// Value of `"key": <number or text>` in JSON; empty where there is none.
inline std::string json_value(const std::string& json, const std::string& key) {
  const std::string name = "\"" + key + "\": ";
  const std::size_t start = json.find(name);
  if (start == std::string::npos) return "";
  const std::size_t begin = start + name.size();
  return json.substr(begin, json.find_first_of(",}]", begin) - begin);
}

/// The first line that begins with `start`, spaces before it left out; empty where there is none.
inline std::string line_of(const std::string& text, const std::string& start) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    const std::size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos && line.compare(first, start.size(), start) == 0) return line.substr(first);
    begin = end + 1;
  }
  return "";
}

/// A Python that can `import <module>`; empty where there is none.
inline std::string find_python(const std::string& module) {
  for (const std::string program : {"python3", "/usr/bin/python3"}) {
    if (std::system((program + " -c 'import " + module + "' 2>/dev/null").c_str()) == 0) return program;
  }
  return "";
}

/// Whether runs can be started over MPI: the plugin lies next to the program, and there is an mpirun.
inline bool mpi_is_here() {
  static const bool here =
      std::filesystem::exists(std::filesystem::path(ONEBIT_PROGRAM).parent_path() / "libonebit_mpi.so") &&
      std::system("mpirun --version >/dev/null 2>&1") == 0;
  return here;
}

/// An environment variable of this process and the programs that it starts, for a while.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_.empty()) {
      unsetenv(name_);
    } else {
      setenv(name_, before_.c_str(), 1);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

/// The first line of a file under /proc; empty where the process has ended, also while it is read.
inline std::string line_of_process(const std::filesystem::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

/// Lets no sanitizer look for leaks: Open MPI unloads its parts with what they hold, and nobody could name them in a
/// list of known leaks.
class NoLeakCheck {
 public:
  NoLeakCheck() : options_("ASAN_OPTIONS", given() + ":detect_leaks=0") {}

 private:
  static std::string given() {
    const char* options = std::getenv("ASAN_OPTIONS");
    return options == nullptr ? "" : options;
  }
  Variable options_;
};

}  // namespace onebit::tests
