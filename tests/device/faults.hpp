#pragma once
// Actions that must die, each run in a process of its own.

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <string>

namespace onebit::tests {

/// Whether an action dies of a bad memory access.
inline bool faults(const std::function<void()>& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGSEGV, [](int) { ::_exit(77); });
    std::signal(SIGBUS, [](int) { ::_exit(77); });
    action();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 77;
}

/// Returns what an action writes to stderr until it aborts; empty if it does not abort.
inline std::string last_words(const std::function<void()>& action) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) return "";
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGABRT, [](int) { ::_exit(78); });
    ::dup2(pipe[1], STDERR_FILENO);
    action();
    ::_exit(0);
  }
  ::close(pipe[1]);
  std::string words;
  std::array<char, 1024> piece{};
  for (ssize_t size = 0; (size = ::read(pipe[0], piece.data(), piece.size())) > 0;) {
    words.append(piece.data(), static_cast<std::size_t>(size));
  }
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 78 ? words : "";
}

}  // namespace onebit::tests
