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
#include "tests/sim/log/log_fixture.hpp"

namespace onebit::tests {

using Arguments = std::vector<std::string>;

struct Outcome {
  int status = -1;  ///< exit status; 128 + signal if a signal ended it
  std::string out, err;
  double peak_bytes = 0;  ///< its largest resident memory according to the system (VmHWM), read every few milliseconds
};

/// A program that runs in `folder`. It is killed at the end of the scope if it still runs.
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

  /// Whether the program has stopped itself (SIGSTOP).
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

  /// Polls until `done` returns true, the program ends, or a minute has passed. Returns the last result of `done`.
  bool poll(const std::function<bool()>& done, std::chrono::seconds limit = std::chrono::seconds(60)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!done()) {
      if (!running() || std::chrono::steady_clock::now() > end) return done();
      usleep(3000);
    }
    return true;
  }

  /// Waits until the program ends. Fails the test if it does not.
  Outcome finish() {
    if (!poll([this] { return !running(); }, std::chrono::seconds(240))) FAIL("the program does not end");
    return {status_, read_file(streams_ / "out"), without_hwloc(read_file(streams_ / "err")), peak_bytes_};
  }

 private:
  /// Reads the system's figure, which disappears with the process. The figure of wait4 would include this program's
  /// memory.
  void watch_memory() {
    const std::string process = "/proc/" + std::to_string(pid_);
    std::error_code gone;
    if (std::filesystem::equivalent(process + "/exe", "/proc/self/exe", gone) || gone) return;  // not begun, or ended
    std::ifstream file(process + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("VmHWM:")) peak_bytes_ = 1024 * std::stod(line.substr(6));
    }
  }

  /// Returns the program's output without the lines of MPI's hwloc, which complains if there is no /sys.
  static std::string without_hwloc(const std::string& text) {
    std::string kept;
    std::stringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("hwloc")) kept += line + (lines.eof() ? "" : "\n");
    }
    return kept;
  }

  /// Whether AddressSanitizer looks for leaks and for accesses beyond global variables: in one start of eight, chosen
  /// by the words of the command. These two checks take 60 of the 150 ms of a sanitized start.
  static bool is_checked_whole(const Arguments& command) {
    std::size_t words = 0;
    for (const std::string& word : command) {
      if (word.find('/') == word.npos) words += std::hash<std::string>()(word);  // not paths, which differ in every run
    }
    return words % 8 == 0;
  }

  [[noreturn]] void become(const std::string& folder, const Arguments& command) const {
    const int out = open((streams_ / "out").c_str(), O_WRONLY | O_CREAT, 0600);
    const int err = open((streams_ / "err").c_str(), O_WRONLY | O_CREAT, 0600);
    const int in = open("/dev/null", O_RDONLY);
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    if (!is_checked_whole(command)) {
      const char* options = std::getenv("ASAN_OPTIONS");
      const std::string given = options == nullptr ? "" : options;
      setenv("ASAN_OPTIONS", (given + ":detect_leaks=0:report_globals=0").c_str(), 1);
    }
    setenv("OMP_WAIT_POLICY", "passive", 0);  // several tests share the cores: do not spin
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 || chdir(folder.c_str()) != 0) _exit(126);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }

  Folder streams_;  ///< for the output, so that the working folder shows only files that the program leaves
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

/// Runs `onebit` with arguments in a folder.
inline Arguments onebit_command(const Arguments& arguments) {
  return joined({ONEBIT_PROGRAM}, arguments);
}
inline Outcome run_onebit(const Folder& folder, const Arguments& arguments) {
  return run_in(folder, onebit_command(arguments));
}

/// Returns the options of a run that takes an instant.
inline Arguments tiny_run(const std::string& command, const Arguments& more = {}) {
  return joined(
      {command, "--model",         "mlp", "--model.layers", "4,5,3", "--data",          "synthetic", "--threads",
       "1",     "--data.features", "4",   "--data.classes", "3",     "--data.examples", "200",       "--workers",
       "2",     "--batch",         "2",   "--steps",        "6",     "--optimizer",     "adam"},
      more);
}

/// Returns the names of everything in a folder.
inline std::set<std::string> entries(const Folder& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "")) {
    names.insert(entry.path().string());
  }
  return names;
}

/// Returns the value of `"key": <number or text>` in JSON; empty if there is none.
inline std::string json_value(const std::string& json, const std::string& key) {
  const std::string name = "\"" + key + "\": ";
  const std::size_t start = json.find(name);
  if (start == std::string::npos) return "";
  const std::size_t begin = start + name.size();
  return json.substr(begin, json.find_first_of(",}]", begin) - begin);
}

/// Returns the first line that begins with `start` after leading spaces; empty if there is none.
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

/// Returns a Python that can `import <module>`; empty if there is none.
inline std::string find_python(const std::string& module) {
  for (const std::string program : {"python3", "/usr/bin/python3"}) {
    if (std::system((program + " -c 'import " + module + "' 2>/dev/null").c_str()) == 0) return program;
  }
  return "";
}

/// Whether runs can be started over MPI: the plugin is next to the program, and there is an mpirun.
inline bool mpi_is_here() {
  static const bool here =
      std::filesystem::exists(std::filesystem::path(ONEBIT_PROGRAM).parent_path() / "libonebit_mpi.so") &&
      std::system("mpirun --version >/dev/null 2>&1") == 0;
  return here;
}

/// Sets an environment variable of this process, and of the programs that it starts, during its lifetime.
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

/// Returns the first line of a file under /proc; empty if the process has ended, even while the file is read.
inline std::string line_of_process(const std::filesystem::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

/// Turns off the search for leaks: Open MPI unloads its modules without freeing their memory, so a list of known leaks
/// could not name them.
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

/// Returns a page without its scripts and styles.
inline std::string without_scripts(std::string page) {
  for (const std::string element : {"script", "style"}) {
    const std::string end = "</" + element + ">";
    for (std::size_t begin = page.find("<" + element); begin != page.npos; begin = page.find("<" + element, begin)) {
      page.erase(begin, page.find(end, begin) + end.size() - begin);
    }
  }
  return page;
}

}  // namespace onebit::tests
