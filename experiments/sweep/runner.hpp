#pragma once
// Runs points as child processes, as many at a time as the limits on jobs and memory allow.

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiments/sweep/child.hpp"
#include "experiments/sweep/results.hpp"

namespace onebit::experiments {

struct RunnerLimits {
  Index jobs = 1;         ///< runs at a time
  Index memory = 0;       ///< bytes that the running points may take together
  double time_limit = 0;  ///< seconds that a run may take; 0: unlimited
  Index retries = 1;      ///< restarts after a failure other than a divergence
};

/// A point to run.
struct RunJob {
  std::string name;   ///< name of the point
  std::string label;  ///< label for messages
  Index bytes = 0;    ///< memory that the point takes
};

/// Starts points in the order in which they were added. If one has to wait for memory, all points after it wait too. A
/// point whose log another program is writing waits until that program ends; later points may start before it.
class Runner {
 public:
  /// tell: prints a line for the user.
  Runner(Results& results, std::function<void(const std::string&)> tell) : results_(results), tell_(std::move(tell)) {}

  /// Asks running points to end, and gives them kGrace to write their checkpoints.
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// Adds a point. Its NAME.ini must exist.
  void add(RunJob job) { waiting_.push_back({std::move(job), 1, {}, false}); }

  /// Registers runs that have ended and starts others. Returns the names of the points that are over: done,
  /// diverged, or recorded as failed. Throws ConfigError, IoError.
  std::vector<std::string> advance(const RunnerLimits& limits);

  /// Asks running points to end and starts no others.
  void stop();

  bool idle() const { return running_.empty() && (stopping_ || waiting_.empty()); }
  Index running() const { return static_cast<Index>(running_.size()); }
  /// Returns the summed wall time of the children so far.
  double child_seconds() const { return child_seconds_; }

  static constexpr std::chrono::seconds kGrace{10};  ///< time between SIGTERM and SIGKILL

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    RunJob job;
    Index attempt;
    Clock::time_point not_before;
    bool told;  ///< whether the user was told that the point waits for another program
  };
  struct Running {
    RunJob job;
    Index attempt;
    std::unique_ptr<Child> child;
    bool timed_out, killed;
  };

  void start(const Waiting& waiting);
  void start_what_fits(const RunnerLimits& limits);
  bool deferred(Waiting& waiting);
  void watch_time(Running& run, double limit) const;
  bool conclude(const Running& run, const ChildEnd& end, Index retries);
  std::string reason_of(const Running& run, const ChildEnd& end) const;

  Results& results_;
  std::function<void(const std::string&)> tell_;
  std::deque<Waiting> waiting_;
  std::vector<Running> running_;
  bool stopping_ = false;
  double child_seconds_ = 0;
};

}  // namespace onebit::experiments
