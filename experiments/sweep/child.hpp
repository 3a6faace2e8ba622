#pragma once
// A child process that runs while this program does, and ends with it.

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace onebit::experiments {

/// How a child ended.
struct ChildEnd {
  int status = 0;  ///< exit status; 0 where a signal ended it
  int signal = 0;  ///< that ended it; 0: none
};

class Child {
 public:
  /// Starts this program again with `arguments`. Its output, errors included, replaces the file `output`; a threads
  /// library that waits does so asleep. The child is killed where this process dies. Throws IoError.
  Child(const std::vector<std::string>& arguments, const std::string& output);
  /// Kills it if it still runs.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Nothing as long as it runs.
  std::optional<ChildEnd> end();
  void send(int signal) const;
  /// Seconds since it was started, until its end.
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  pid_t process_ = -1;
  std::optional<ChildEnd> end_;
  Clock::time_point start_ = Clock::now(), stop_ = {};
};

/// The end of a child wakes wait_for_children from now on. To be called before this process starts threads.
void watch_children();

/// Sleeps until a child ends, a signal comes, or the time is over.
void wait_for_children(std::chrono::milliseconds longest);

}  // namespace onebit::experiments
