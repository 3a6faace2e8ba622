#pragma once
// A shell command that runs alongside this program and talks to it in lines: this program writes its standard input and
// reads its output.

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>

namespace onebit::sim {

/// Owns a file descriptor.
class PipeEnd {
 public:
  PipeEnd() = default;
  explicit PipeEnd(int descriptor) : descriptor_(descriptor) {}
  PipeEnd(PipeEnd&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  PipeEnd& operator=(PipeEnd&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~PipeEnd() { close(); }

  int get() const { return descriptor_; }
  void close();

 private:
  int descriptor_ = -1;
};

/// Shortens a text for a message: one line, not too long.
std::string shown(const std::string& text);

/// Runs `sh -c command` in its own process group, with no other file of this process open. A guard, which is a second
/// shell in that group, kills the group if this process ends in any way without doing so.
class ExternalProcess {
 public:
  /// Starts the command. Throws IoError if the system cannot create a process. That a command does not exist shows only
  /// when its first answer is received.
  explicit ExternalProcess(std::string command);
  /// Closes the input, waits up to two seconds for the command to end by itself, and kills what is left of its group.
  ~ExternalProcess();
  ExternalProcess(const ExternalProcess&) = delete;
  ExternalProcess& operator=(const ExternalProcess&) = delete;

  /// Writes a line. If the command has ended, the line is lost and the next receive() reports it.
  void send(const std::string& line);

  /// Returns the next line, without its end. Throws WorkerError if the command ended, with its exit status and the last
  /// line of its standard error, or if no line came in time; the command is then killed at once.
  std::string receive(double seconds);

 private:
  using Time = std::chrono::steady_clock::time_point;

  bool take_line(std::string& line);
  bool wait_for_text(Time end);
  void read_errors();
  bool ended(double seconds);
  void end();
  [[noreturn]] void fail_ended();
  [[noreturn]] void fail(const std::string& what, const std::string& hint);

  std::string command_;
  PipeEnd input_, output_, errors_, life_;
  pid_t guard_ = 0, child_ = 0;
  int status_ = 0;      ///< exit status of the child, once child_ is 0
  std::string text_;    ///< text from the output that is not yet taken
  std::string stderr_;  ///< last bytes from standard error
};

}  // namespace onebit::sim
