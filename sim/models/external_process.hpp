#pragma once
// A shell command that runs alongside this program and exchanges lines of text with it: this program writes to the
// command's standard input and reads its output.

#include <chrono>
#include <optional>
#include <string>

#include "sim/models/external_command.hpp"

namespace onebit::sim {

/// Makes all threads that wait for an answer stop waiting early once `requested` returns true. After a stop request, a
/// program still gets time to answer, so that the step can be finished: two seconds, or twice the time of its slowest
/// answer so far if that is longer.
void stop_waits_if(bool (*requested)());

class ExternalProcess {
 public:
  /// Starts the command. Throws IoError if the system cannot create a process. A command
  /// that does not exist is detected only by the first receive().
  explicit ExternalProcess(std::string command);
  /// Closes the input, waits up to two seconds for the command to end by itself, and kills what is left of its tree.
  ~ExternalProcess();
  ExternalProcess(const ExternalProcess&) = delete;
  ExternalProcess& operator=(const ExternalProcess&) = delete;

  /// Writes a one-line request and starts the timer for its answer. All lines of the answer must arrive within the
  /// given number of seconds, including the time that the command takes to read the request. If the command has ended,
  /// the line is lost and the next receive() reports it. Throws what receive() throws.
  void send(const std::string& line, double seconds);

  /// Returns the next line of the answer, without its line end. Throws WorkerError if the command has ended (the
  /// message has its exit status and the last line of its standard error), if it has closed its standard output, if the
  /// time limit has expired, if more than 1 MiB comes without an end of line, or if the answer is longer than 16 MiB.
  /// Throws StopError if a stop was requested and the answer did not arrive within the grace period. The command is
  /// then killed at once.
  std::string receive();

 private:
  using Time = std::chrono::steady_clock::time_point;

  bool take_line(std::string& line);
  void wait_in_time(bool to_send);
  void read_output();
  void read_errors();
  void refuse_late();
  bool ended(double seconds);
  [[noreturn]] void fail_ended();
  [[noreturn]] void fail(const std::string& what, const std::string& hint);

  std::string command_text_;
  ExternalCommand command_;
  double seconds_ = 0;                             ///< seconds that the answer may take
  Time start_;                                     ///< when the answer's time began
  std::chrono::steady_clock::duration slowest_{};  ///< longest time of an answer so far
  std::optional<Time> stop_;                       ///< when a stop request ends the wait for the answer
  std::size_t answered_ = 0;                       ///< bytes of the answer so far
  std::string text_;                               ///< text from the output
  std::size_t taken_ = 0;                          ///< bytes of the text that were returned as lines
  std::string stderr_;                             ///< last bytes from standard error
};

}  // namespace onebit::sim
