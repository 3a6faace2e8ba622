#pragma once
// Runs the program in a pseudo terminal, and says what a reader sees there.

#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "experiments/output/screen.hpp"
#include "tests/experiments/program.hpp"

namespace onebit::tests {

/// What a terminal shows after it has received bytes. It knows what the program may send: texts, line ends, "\r", the
/// erasing of the rest of a line or of the screen, and colours. Other sequences fail the test.
class ShownText {
 public:
  explicit ShownText(const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) at += take(bytes, at);
    if (lines_.back().empty()) lines_.pop_back();
  }

  const std::vector<std::string>& lines() const { return lines_; }
  /// Returns the characters of the longest line that there ever was, even if it was overwritten.
  std::size_t widest() const { return widest_; }
  /// Returns how often the current line was erased.
  int erased() const { return erased_; }
  /// Returns how often a colour was set.
  int coloured() const { return coloured_; }
  /// Returns the first line that contains a text; empty if there is none.
  std::string line_with(const std::string& text) const {
    for (const std::string& line : lines_) {
      if (line.find(text) != line.npos) return line;
    }
    return "";
  }

 private:
  /// Takes what begins at a place; returns its length.
  std::size_t take(const std::string& bytes, std::size_t at) {
    if (bytes[at] == '\033') return take_sequence(bytes, at);
    if (bytes[at] == '\n') {
      lines_.emplace_back();
    } else if (bytes[at] == '\r') {
      place_ = 0;
    } else {
      lines_.back().replace(std::min(place_, lines_.back().size()), 1, 1, bytes[at]);
      ++place_;
      widest_ = std::max(widest_, experiments::width_of(lines_.back()));
    }
    return 1;
  }

  std::size_t take_sequence(const std::string& bytes, std::size_t at) {
    const std::size_t end = bytes.find_first_of("JKm", at);
    REQUIRE(end != std::string::npos);
    const std::string sequence = bytes.substr(at, end + 1 - at);
    CAPTURE(sequence.substr(1));
    REQUIRE(sequence.find_first_not_of("\033[0123456789JKm") == std::string::npos);
    if (sequence.back() != 'm') {
      lines_.back().erase(std::min(place_, lines_.back().size()));
      ++erased_;
    } else {
      ++coloured_;
    }
    return sequence.size();
  }

  std::vector<std::string> lines_ = {""};
  std::size_t place_ = 0, widest_ = 0;
  int erased_ = 0, coloured_ = 0;
};

/// A program whose standard streams are a pseudo terminal. It is killed at the end of the scope if it still runs.
class TerminalProcess {
 public:
  TerminalProcess(const std::string& folder, const Arguments& command, unsigned short columns) {
    struct winsize size {};
    size.ws_col = columns;
    size.ws_row = 24;
    std::fflush(nullptr);
    pid_ = forkpty(&terminal_, nullptr, nullptr, &size);
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) become(folder, command);
  }
  ~TerminalProcess() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    close(terminal_);
  }
  TerminalProcess(const TerminalProcess&) = delete;
  TerminalProcess& operator=(const TerminalProcess&) = delete;

  void resize(unsigned short columns) const {
    struct winsize size {};
    size.ws_col = columns;
    size.ws_row = 24;
    REQUIRE(ioctl(terminal_, TIOCSWINSZ, &size) == 0);
  }
  void interrupt() const { REQUIRE(write(terminal_, "\x03", 1) == 1); }

  /// Reads until `done` returns true for all that was read so far; fails the test after a minute, or at the end.
  void read_until(const std::function<bool(const std::string&)>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!done(text_)) {
      REQUIRE(std::chrono::steady_clock::now() < end);
      REQUIRE(read_some());
    }
  }

  /// Reads until the program ends; returns its status.
  int finish() {
    while (read_some()) {
    }
    int status = 0;
    REQUIRE(waitpid(pid_, &status, 0) == pid_);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  const std::string& text() const { return text_; }

 private:
  bool read_some() {
    char bytes[4096];
    const ssize_t count = read(terminal_, bytes, sizeof bytes);  // fails once the program has closed the terminal
    if (count > 0) text_.append(bytes, static_cast<std::size_t>(count));
    return count > 0;
  }

  [[noreturn]] static void become(const std::string& folder, const Arguments& command) {
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    setenv("OMP_WAIT_POLICY", "passive", 0);
    if (chdir(folder.c_str()) != 0) _exit(126);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }

  pid_t pid_ = 0;
  int terminal_ = -1;
  std::string text_;
};

/// Runs `onebit` in a terminal; it must succeed. Returns all that it wrote.
inline std::string bytes_in_terminal(const Folder& folder, const Arguments& arguments, unsigned short columns = 80) {
  TerminalProcess process(folder / "", onebit_command(arguments), columns);
  const int status = process.finish();
  CAPTURE(process.text());
  REQUIRE(status == 0);
  return process.text();
}

}  // namespace onebit::tests
