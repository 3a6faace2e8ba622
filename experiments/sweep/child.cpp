#include "experiments/sweep/child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "device/base/error.hpp"
#include "device/base/files.hpp"

namespace onebit::experiments {
namespace {

sigset_t child_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return set;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

/// Blocks all signals during its lifetime.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsHeld() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_;
};

/// Runs between fork and exec, where only async-signal-safe calls are allowed. The child gets a process group of its
/// own, so the terminal's Ctrl-C reaches only the sweep, which passes it on. Signal handlers are reset, because the
/// sweep's would accept a stop request that is meant for the child and lose it at exec.
[[noreturn]] void become(pid_t parent, int out, int in, char* const* arguments, sigset_t signals) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  setpgid(0, 0);
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGTERM, &standard, nullptr);
  sigaction(SIGINT, &standard, nullptr);
  sigdelset(&signals, SIGCHLD);
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(127);
  execv("/proc/self/exe", arguments);
  _exit(127);
}

}  // namespace

Child::Child(const std::vector<std::string>& arguments, const std::string& output) {
  std::vector<std::string> command = {"onebit"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const std::vector<char*> argv = pointers(command);
  const int out = files::create_new(output);
  const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t parent = getpid();
  const auto start = [&] {
    const SignalsHeld held;
    process_ = fork();
    if (process_ == 0) become(parent, out, in, argv.data(), held.before());
  };
  if (out >= 0 && in >= 0) start();
  const int error = errno;
  if (out >= 0) close(out);
  if (in >= 0) close(in);
  if (process_ < 0) throw IoError("cannot start a run: " + std::string(std::strerror(error)), output);
}

Child::~Child() {
  if (end_) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

std::optional<ChildEnd> Child::end() {
  int status = 0;
  if (end_ || waitpid(process_, &status, WNOHANG) != process_) return end_;
  stop_ = Clock::now();
  end_ = WIFEXITED(status) ? ChildEnd{WEXITSTATUS(status), 0} : ChildEnd{0, WTERMSIG(status)};
  return end_;
}

void Child::send(int signal) const {
  if (!end_) kill(process_, signal);
}

double Child::seconds() const {
  return std::chrono::duration<double>((end_ ? stop_ : Clock::now()) - start_).count();
}

void watch_children() {
  const sigset_t set = child_signal();
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

void wait_for_children(std::chrono::milliseconds longest) {
  const sigset_t set = child_signal();
  const auto count = longest.count();
  const timespec time{static_cast<time_t>(count / 1000), static_cast<long>(count % 1000) * 1'000'000};
  sigtimedwait(&set, nullptr, &time);
}

}  // namespace onebit::experiments
