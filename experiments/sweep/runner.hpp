#pragma once
// Runs points as child processes, as many at a time as jobs and memory allow.

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
  Index memory = 0;       ///< bytes that the running ones may take together
  double time_limit = 0;  ///< seconds that a run may take; 0: any
  Index retries = 1;      ///< after a failure that is no divergence
};

/// A point that is to be run.
struct RunJob {
  std::string name;   ///< of the point
  std::string label;  ///< for people
  Index bytes = 0;    ///< that it takes
};

/// Points are started in the order in which they were added; where one has to wait for memory, so do those after it. A
/// point whose log another program is writing waits for that, and lets others pass.
class Runner {
 public:
  /// tell: one line for people about something that they should know.
  Runner(Results& results, std::function<void(const std::string&)> tell) : results_(results), tell_(std::move(tell)) {}

  /// Asks runs that are still at work to end, and gives them kGrace for their checkpoints.
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// The point's NAME.ini must be there.
  void add(RunJob job) { waiting_.push_back({std::move(job), 1, {}, false}); }

  /// Takes note of runs that have ended and starts others. Returns the names of the points that are through with it:
  /// done, diverged, or noted as failed. Throws ConfigError, IoError.
  std::vector<std::string> advance(const RunnerLimits& limits);

  /// Asks the running ones to end; no other is started.
  void stop();

  bool idle() const { return running_.empty() && (stopping_ || waiting_.empty()); }
  Index running() const { return static_cast<Index>(running_.size()); }
  /// Wall time of the children so far, summed.
  double child_seconds() const { return child_seconds_; }

  static constexpr std::chrono::seconds kGrace{10};  ///< between SIGTERM and SIGKILL

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    RunJob job;
    Index attempt;
    Clock::time_point not_before;
    bool told;  ///< that it waits for another program
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
