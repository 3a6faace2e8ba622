#pragma once
// A child process that ends no later than this program.

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace onebit::experiments {

/// How a child ended.
struct ChildEnd {
  int status = 0;  ///< exit status; 0 if a signal ended the child
  int signal = 0;  ///< signal that ended the child; 0: none
};

class Child {
 public:
  /// Starts this program again with `arguments`. Its output, including errors, replaces the file `output`. Its
  /// OpenMP threads sleep while they wait. The child is killed if this process dies. Throws IoError.
  Child(const std::vector<std::string>& arguments, const std::string& output);
  /// Kills the child if it still runs.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Returns how the child ended, or nothing while it runs.
  std::optional<ChildEnd> end();
  void send(int signal) const;
  /// Returns the seconds from its start to its end, or to now.
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  pid_t process_ = -1;
  std::optional<ChildEnd> end_;
  Clock::time_point start_ = Clock::now(), stop_ = {};
};

/// Makes wait_for_children wake up when a child ends. Call this before this process starts threads.
void watch_children();

/// Sleeps until a child ends, a signal arrives, or `longest` has passed.
void wait_for_children(std::chrono::milliseconds longest);

}  // namespace onebit::experiments
