#include "sim/models/external_command.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <random>
#include <vector>

#include "device/base/error.hpp"

namespace onebit::sim {
namespace {

int check_system(int result, const std::string& command) {
  if (result >= 0) return result;
  throw IoError("cannot start the worker program: " + std::string(std::strerror(errno)),
                "model.command " + shown(command),
                "the system may have run out of processes, memory or file descriptors: see ulimit -a");
}

struct Pipe {
  PipeEnd from, to;
};

/// Makes a pipe from which a read does not block.
Pipe make_pipe(const std::string& command) {
  std::array<int, 2> ends{};
  check_system(pipe2(ends.data(), O_CLOEXEC), command);
  Pipe pipe{PipeEnd(ends[0]), PipeEnd(ends[1])};
  check_system(fcntl(ends[0], F_SETFL, O_NONBLOCK), command);
  return pipe;
}

Pipe make_socket(const std::string& command) {
  std::array<int, 2> ends{};
  check_system(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), command);
  return {PipeEnd(ends[0]), PipeEnd(ends[1])};
}

/// Returns the name of a variable that no other process has in its environment. A program that is started by a worker
/// program and itself starts worker programs has several such variables.
std::string random_mark() {
  std::random_device random;
  std::string name = "ONEBIT_WORKER_";
  for (int i = 0; i < 32; ++i) name += "0123456789abcdef"[random() % 16];
  return name;
}

/// Returns the script of the guard. Its first line of input is the number of the process group; a second line, or the
/// end of input, makes it kill the tree. Processes that start others, or that are just about to become another program,
/// can be missing from a list of the system's processes, so lists are made until two in a row are empty. The number of
/// lists has a limit, because a process can be stuck in the kernel.
std::string guard_script(const std::string& mark) {
  return "trap '' HUP INT TERM; read group; read end; [ -z \"$group\" ] || kill -KILL -$group; "
         "lists=0 empty=0; while [ $empty -lt 2 ] && [ $lists -lt 100 ]; do "
         "lists=$((lists + 1)) empty=$((empty + 1)); for file in $(grep -lsF " +
         mark + "= /proc/[0-9]*/environ); do empty=0 id=${file#/proc/}; kill -KILL ${id%/environ}; done; done";
}

/// A descriptor that becomes descriptor `as` of the new process.
struct Given {
  int descriptor, as;
};

/// Starts `sh -c` in its own process group, with default signals, no descriptors other than those given, and `mark`, if
/// it is not empty, in its environment.
pid_t spawn(const std::string& script, const std::string& mark, std::initializer_list<Given> files,
            const std::string& command) {
  std::string shell = "sh", option = "-c", text = script, variable = mark + "=1";
  char* arguments[] = {shell.data(), option.data(), text.data(), nullptr};
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  if (!mark.empty()) environment.push_back(variable.data());
  environment.push_back(nullptr);
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
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  pid_t child = 0;
  errno = posix_spawn(&child, "/bin/sh", &actions, &attributes, arguments, environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  check_system(errno == 0 ? 0 : -1, command);
  return child;
}

void wait_for(pid_t child, int& status) {
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
}

/// Sends the guard a line. Does nothing if the guard has been killed.
void tell(const PipeEnd& guard, const std::string& line) {
  const std::string text = line + "\n";
  send(guard.get(), text.data(), text.size(), MSG_NOSIGNAL);
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

ExternalCommand::ExternalCommand(const std::string& command) {
  Pipe life = make_socket(command), in = make_socket(command), out = make_pipe(command), err = make_pipe(command);
  const PipeEnd nothing(check_system(open("/dev/null", O_RDWR | O_CLOEXEC), command));
  const std::string mark = random_mark();
  guard_ = spawn(guard_script(mark), "", {{life.from.get(), 0}, {nothing.get(), 1}, {nothing.get(), 2}}, command);
  life_ = std::move(life.to);
  try {
    shell_ = spawn(command, mark, {{in.from.get(), 0}, {out.to.get(), 1}, {err.to.get(), 2}}, command);
  } catch (...) {
    end();
    throw;
  }
  tell(life_, std::to_string(shell_));
  input = std::move(in.to);
  output = std::move(out.from);
  errors = std::move(err.from);
}

ExternalCommand::~ExternalCommand() {
  end();
}

/// Leaves the ended shell waitable, so that its number, which is also that of the group, is not given to an unrelated
/// process.
bool ExternalCommand::has_ended() const {
  siginfo_t info = {};
  if (shell_ == 0) return true;
  if (waitid(P_PID, static_cast<id_t>(shell_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return errno != EINTR;
  return info.si_pid == shell_;
}

void ExternalCommand::end() {
  if (guard_ == 0) return;
  if (shell_ > 0) kill(-shell_, SIGKILL);  // even if someone has killed the guard
  tell(life_, "\n");                       // two lines: without a shell, the guard still waits for its number
  life_.close();
  int ignored = 0;
  wait_for(std::exchange(guard_, 0), ignored);
  if (shell_ > 0) wait_for(std::exchange(shell_, 0), status_);
}

}  // namespace onebit::sim
