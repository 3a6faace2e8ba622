#pragma once
// A shell command that is started with pipes to this program, and ended together with every process that it started.

#include <sys/types.h>

#include <initializer_list>
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
  bool is_open() const { return descriptor_ >= 0; }
  void close();

 private:
  int descriptor_ = -1;
};

/// Shortens a text for a message: one line, not too long.
std::string shown(const std::string& text);

/// Runs `sh -c command` in its own process group. Apart from its standard streams, the command inherits no open file of
/// this process. Ending the command also ends its tree: its process group, and every process whose environment contains
/// a marker, a variable with a random name. This also finds orphans and processes in other sessions. Only processes
/// that have left the group and removed the marker from their environment are missed.
///
/// A guard, which is a second shell, ends the tree if this process terminates for any reason without having ended the
/// tree itself.
class ExternalCommand {
 public:
  /// Starts the command. Throws IoError if the system cannot create a process.
  explicit ExternalCommand(const std::string& command);
  /// Calls end().
  ~ExternalCommand();
  ExternalCommand(const ExternalCommand&) = delete;
  ExternalCommand& operator=(const ExternalCommand&) = delete;

  PipeEnd input;   ///< a socket, so that a write to a command that has ended need not raise a signal
  PipeEnd output;  ///< does not block
  PipeEnd errors;  ///< does not block

  /// Returns whether the shell has ended; processes that it has started may still run.
  bool has_ended() const;
  /// Kills whatever is left of the tree at once. Later calls do nothing.
  void end();
  /// The shell's status as reported by waitpid; only after end().
  int status() const { return status_; }

 private:
  PipeEnd life_;  ///< the guard ends the tree when this closes
  pid_t guard_ = 0, shell_ = 0;
  int status_ = 0;
};

}  // namespace onebit::sim
