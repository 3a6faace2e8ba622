#include "sim/models/external_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <thread>

#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::sim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestLine = 1 << 20;
constexpr std::size_t kKeptErrors = 4096;
constexpr double kGrace = 2;  ///< seconds that a command has to end by itself

int check_system(int result, const std::string& command) {
  if (result >= 0) return result;
  throw IoError("cannot start the worker program: " + std::string(std::strerror(errno)),
                "model.command " + shown(command));
}

struct Pipe {
  PipeEnd from, to;
};

Pipe make_pipe(const std::string& command) {
  std::array<int, 2> ends{};
  check_system(pipe2(ends.data(), O_CLOEXEC), command);
  return {PipeEnd(ends[0]), PipeEnd(ends[1])};
}

/// Makes a socket instead of a pipe, because a write to a command that has ended must not raise a signal.
Pipe make_input(const std::string& command) {
  std::array<int, 2> ends{};
  check_system(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), command);
  return {PipeEnd(ends[0]), PipeEnd(ends[1])};
}

/// A descriptor that becomes descriptor `as` of the new process.
struct Given {
  int descriptor, as;
};

/// Starts `sh -c` in a process group (0: a new one), with default signals and no descriptors other than those given.
pid_t spawn(const std::string& script, pid_t group, std::initializer_list<Given> files, const std::string& command) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  for (const Given& file : files) posix_spawn_file_actions_adddup2(&actions, file.descriptor, file.as);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, group);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  std::string shell = "sh", option = "-c", text = script;
  char* arguments[] = {shell.data(), option.data(), text.data(), nullptr};
  pid_t child = 0;
  errno = posix_spawn(&child, "/bin/sh", &actions, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  check_system(errno == 0 ? 0 : -1, command);
  return child;
}

void wait_for(pid_t child, int& status) {
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
}

/// Describes how a command ended. A shell in between exits with 128 + N if signal N ended its command.
std::string ending(int status) {
  const bool told = WIFEXITED(status) && WEXITSTATUS(status) > 128 && WEXITSTATUS(status) < 128 + NSIG;
  if (WIFSIGNALED(status) || told) {
    const int signal = told ? WEXITSTATUS(status) - 128 : WTERMSIG(status);
    return "was ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
  return "ended with exit status " + std::to_string(WEXITSTATUS(status));
}

/// Returns the last line of a text that has a visible character.
std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n") + 1;  // 0 if there is no such line
  const std::size_t before = end == 0 ? std::string::npos : text.find_last_of('\n', end - 1);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, end - begin);
}

}  // namespace

void PipeEnd::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

std::string shown(const std::string& text) {
  constexpr std::size_t longest = 160;
  std::string line = text.substr(0, longest);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text.size() > longest ? line + "..." : line;
}

ExternalProcess::ExternalProcess(std::string command) : command_(std::move(command)) {
  Pipe life = make_pipe(command_), input = make_input(command_), output = make_pipe(command_),
       errors = make_pipe(command_);
  check_system(fcntl(errors.from.get(), F_SETFL, O_NONBLOCK), command_);
  // The guard's input ends when the only holder of its other end, this process, is gone.
  const PipeEnd nothing(check_system(open("/dev/null", O_RDWR | O_CLOEXEC), command_));
  guard_ =
      spawn("read nothing; kill -KILL 0", 0, {{life.from.get(), 0}, {nothing.get(), 1}, {nothing.get(), 2}}, command_);
  life_ = std::move(life.to);
  try {
    child_ = spawn(command_, guard_, {{input.from.get(), 0}, {output.to.get(), 1}, {errors.to.get(), 2}}, command_);
  } catch (...) {
    end();
    throw;
  }
  input_ = std::move(input.to);
  output_ = std::move(output.from);
  errors_ = std::move(errors.from);
}

ExternalProcess::~ExternalProcess() {
  input_.close();
  ended(kGrace);
  end();
}

/// Kills at once whatever is left of the group.
void ExternalProcess::end() {
  if (guard_ == 0) return;
  kill(-guard_, SIGKILL);
  int ignored = 0;
  if (child_ > 0) wait_for(std::exchange(child_, 0), status_);
  wait_for(std::exchange(guard_, 0), ignored);
}

/// Returns whether the command ends within so many seconds. Meanwhile reads its standard error, so that the command
/// does not block on it.
bool ExternalProcess::ended(double seconds) {
  const Time limit = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  while (child_ > 0 && waitpid(child_, &status_, WNOHANG) == 0) {
    if (Clock::now() > limit) return false;
    read_errors();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  child_ = 0;
  return true;
}

void ExternalProcess::send(const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::send(input_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;
    sent += static_cast<std::size_t>(count);
  }
}

std::string ExternalProcess::receive(double seconds) {
  const Time end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::string line;
  while (!take_line(line)) {
    if (text_.size() > kLongestLine)
      fail("the worker program's answer has no end of line", "see docs/external-model.md");
    if (wait_for_text(end)) continue;
    fail("the worker program gives no answer within " + shortest(seconds) + " seconds",
         "give it more time with --model.timeout, or find out where it hangs");
  }
  return line;
}

bool ExternalProcess::take_line(std::string& line) {
  const std::size_t end = text_.find('\n');
  if (end == std::string::npos) return false;
  line = text_.substr(0, end);
  if (line.ends_with('\r')) line.pop_back();
  text_.erase(0, end + 1);
  return true;
}

/// Waits for text from the command. Returns false if the time is over.
bool ExternalProcess::wait_for_text(Time end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  if (left <= 0) return false;
  std::array<pollfd, 2> files = {{{output_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}}};
  const int ready = poll(files.data(), files.size(), static_cast<int>(std::min<long>(left, 1'000'000)));
  if (ready <= 0) return true;  // a signal, or the time is over: the next call finds out
  if (files[1].revents != 0) read_errors();
  if (files[0].revents == 0) return true;
  std::array<char, 4096> block{};
  const ssize_t count = read(output_.get(), block.data(), block.size());
  if (count > 0) text_.append(block.data(), static_cast<std::size_t>(count));
  if (count == 0) fail_ended();
  return true;
}

void ExternalProcess::read_errors() {
  std::array<char, 4096> block{};
  ssize_t count = 0;
  while (errors_.get() >= 0 && (count = read(errors_.get(), block.data(), block.size())) > 0) {
    stderr_.append(block.data(), static_cast<std::size_t>(count));
    if (stderr_.size() > kKeptErrors) stderr_.erase(0, stderr_.size() - kKeptErrors);
  }
  if (count == 0) errors_.close();
}

void ExternalProcess::fail_ended() {
  input_.close();
  if (!ended(kGrace)) fail("the worker program closed its standard output", "it must answer on its standard output");
  read_errors();
  const std::string reason = last_line(stderr_);
  fail("the worker program " + ending(status_) + (reason.empty() ? "" : ": " + shown(reason)),
       "add 2>FILE to the command to keep all of its error output");
}

void ExternalProcess::fail(const std::string& what, const std::string& hint) {
  end();
  throw WorkerError(what, "model.command " + shown(command_), hint);
}

}  // namespace onebit::sim
