#include "sim/models/external_process.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::sim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestLine = 1 << 20;
constexpr std::size_t kLongestAnswer = 16 << 20;
constexpr std::size_t kKeptErrors = 4096;
constexpr double kGrace = 2;  ///< seconds that a command has to end by itself, or to answer after a stop request
constexpr int kLookAroundEvery = 50;  ///< milliseconds between two checks of the time and of stop requests

std::atomic<bool (*)()> stop_requested = nullptr;

bool is_stop_requested() {
  bool (*const requested)() = stop_requested;
  return requested != nullptr && requested();
}

Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Appends what can be read from a pipe now, up to 64 KiB. Closes the pipe at its end.
std::size_t read_some(PipeEnd& pipe, std::string& text) {
  std::array<char, 1 << 16> block{};
  if (!pipe.is_open()) return 0;
  const ssize_t count = read(pipe.get(), block.data(), block.size());
  if (count == 0) pipe.close();
  if (count <= 0) return 0;
  text.append(block.data(), static_cast<std::size_t>(count));
  return static_cast<std::size_t>(count);
}

/// Describes how a command ended. A shell in between exits with 128 + N if signal N ended its command.
std::string ending(int status) {
  const bool told = WIFEXITED(status) && WEXITSTATUS(status) > 128 && WEXITSTATUS(status) < 128 + NSIG;
  if (WIFSIGNALED(status) || told) {
    const int signal = told ? WEXITSTATUS(status) - 128 : WTERMSIG(status);
    return "was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
  return "ended with exit status " + std::to_string(WEXITSTATUS(status));
}

/// Returns the last line that has a visible character.
std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n") + 1;  // 0 if there is no such line
  const std::size_t before = end == 0 ? std::string::npos : text.find_last_of('\n', end - 1);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, end - begin);
}

}  // namespace

void stop_waits_if(bool (*requested)()) {
  stop_requested = requested;
}

ExternalProcess::ExternalProcess(std::string command) : command_text_(std::move(command)), command_(command_text_) {}

ExternalProcess::~ExternalProcess() {
  command_.input.close();
  ended(kGrace);
}

/// Returns whether the command ends within `seconds` seconds. Reads the command's output while waiting, so that the
/// command does not block on a full pipe.
bool ExternalProcess::ended(double seconds) {
  const Time limit = Clock::now() + duration_of(seconds);
  while (!command_.has_ended()) {
    if (Clock::now() > limit) return false;
    std::array<pollfd, 2> files = {{{command_.output.get(), POLLIN, 0}, {command_.errors.get(), POLLIN, 0}}};
    poll(files.data(), files.size(), 1);
    read_output();
    read_errors();
    text_.clear();
  }
  return true;
}

void ExternalProcess::send(const std::string& line, double seconds) {
  seconds_ = seconds;
  start_ = Clock::now();
  stop_.reset();
  answered_ = text_.size() - taken_;
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size() && command_.output.is_open();) {
    const ssize_t count =
        ::send(command_.input.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) sent += static_cast<std::size_t>(count);
    if (count < 0 && errno == EAGAIN) {
      wait_in_time(true);
    } else if (count < 0 && errno != EINTR) {
      return;
    }
  }
}

std::string ExternalProcess::receive() {
  std::string line;
  while (!take_line(line)) {
    if (text_.size() - taken_ > kLongestLine)
      fail("the worker program's answer has no end of line", "see docs/external-model.md");
    if (!command_.output.is_open()) fail_ended();
    wait_in_time(false);
  }
  refuse_late();
  slowest_ = std::max(slowest_, Clock::now() - start_);
  return line;
}

bool ExternalProcess::take_line(std::string& line) {
  const std::size_t end = text_.find('\n', taken_);
  if (end == std::string::npos) return false;
  line = text_.substr(taken_, end - taken_);
  if (line.ends_with('\r')) line.pop_back();
  taken_ = end + 1;
  return true;
}

/// Waits a moment for text from the command or, if `to_send`, for room in its input. Throws once the time limit has
/// expired.
void ExternalProcess::wait_in_time(bool to_send) {
  refuse_late();
  std::array<pollfd, 3> files = {{{command_.output.get(), POLLIN, 0},
                                  {command_.errors.get(), POLLIN, 0},
                                  {to_send ? command_.input.get() : -1, POLLOUT, 0}}};
  if (poll(files.data(), files.size(), kLookAroundEvery) <= 0) return;
  read_output();
  read_errors();
  if (answered_ > kLongestAnswer)
    fail("the worker program's answer is longer than 16 MiB", "see docs/external-model.md");
}

void ExternalProcess::read_output() {
  text_.erase(0, std::exchange(taken_, 0));
  answered_ += read_some(command_.output, text_);
}

void ExternalProcess::read_errors() {
  read_some(command_.errors, stderr_);
  if (stderr_.size() > kKeptErrors) stderr_.erase(0, stderr_.size() - kKeptErrors);
}

/// Throws once the time limit of the answer has expired, or the limit that applies to it after a stop request.
void ExternalProcess::refuse_late() {
  const Time now = Clock::now();
  const Clock::duration patience = std::max(duration_of(kGrace), 2 * slowest_);
  if (!stop_ && is_stop_requested()) stop_ = now + patience;
  if (stop_ && now > *stop_) {
    command_.end();
    throw StopError("stopped by a signal while the worker program computed an answer",
                    "model.command " + shown(command_text_));
  }
  if (now <= start_ + duration_of(seconds_)) return;
  fail("the worker program gave " + std::string(answered_ > 0 ? "only a part of its" : "no") + " answer within " +
           shortest(seconds_) + " seconds",
       "give it more time with --model.timeout, or find out where it hangs");
}

void ExternalProcess::fail_ended() {
  command_.input.close();
  if (!ended(kGrace)) fail("the worker program closed its standard output", "it must answer on its standard output");
  command_.end();
  read_errors();
  const std::string reason = last_line(stderr_);
  fail("the worker program " + ending(command_.status()) + (reason.empty() ? "" : ": " + shown(reason)),
       "add 2>FILE to the command to keep all of its error output");
}

void ExternalProcess::fail(const std::string& what, const std::string& hint) {
  command_.end();
  throw WorkerError(what, "model.command " + shown(command_text_), hint);
}

}  // namespace onebit::sim
