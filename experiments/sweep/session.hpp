#pragma once
// Executes one shard of a sweep: continues from what the folder contains until the shard is done or stopped.

#include <map>

#include "experiments/sweep/board.hpp"
#include "experiments/sweep/index.hpp"
#include "experiments/sweep/planner.hpp"
#include "experiments/sweep/runner.hpp"
#include "experiments/sweep/shard.hpp"

namespace onebit::experiments {

struct SweepSetup {
  std::string folder;
  std::vector<SweepDefinition> definitions;
  Settings execution;  ///< options that cannot change results
  Shard shard;
  RunnerLimits limits;  ///< memory 0: nine tenths of the free memory
  bool retry_failed = false;
  bool progress = false;  ///< whether to show progress even if stderr is not a terminal
};

class SweepSession {
 public:
  /// Makes the points and checks each one. Throws ConfigError naming the point.
  explicit SweepSession(SweepSetup setup);
  SweepSession(const SweepSession&) = delete;
  SweepSession& operator=(const SweepSession&) = delete;

  /// Plans and runs every waiting point of the shard and keeps the index up to date. Returns false if a signal
  /// stopped it.
  bool run();

  const std::vector<Point>& points() const { return points_; }
  std::vector<PointResult> results() { return results_of(points_, results_); }
  std::vector<TunedArm> arms() { return tuned_arms(setup_.definitions, losses()); }
  /// Returns the losses of points, as read from the folder's files.
  LossOfPoint losses();
  double child_seconds() const { return runner_.child_seconds(); }

  /// Returns the plan of each waiting point of the shard. Changes nothing in the folder. Throws ConfigError naming the
  /// point, or a log that was written with other data.
  std::map<std::string, PointPlan> plans();

 private:
  bool is_own(const Point& point) const { return setup_.shard.owns(point.unit); }
  void find_points();
  void submit_new_points();
  bool submit_once();
  bool submit(const Point& point);
  Index open_examples();
  void write_run_file(const Point& point, const PointPlan& plan);
  void check_data();
  void count(const Point& point);
  void take_note(const std::vector<std::string>& ended);
  void keep_index(bool now);

  using Clock = std::chrono::steady_clock;
  SweepSetup setup_;
  Results results_;
  PointPlanner planner_;
  Board board_;
  Runner runner_;
  std::vector<Point> points_;
  std::map<std::string, std::size_t> places_;  ///< indices in points_ of the shard's submitted or ended points
  Standing standing_;
  std::optional<Index> open_examples_;
  bool index_is_old_ = true;
  Clock::time_point next_index_ = {};
};

}  // namespace onebit::experiments
