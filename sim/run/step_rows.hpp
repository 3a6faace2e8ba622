#pragma once
// The rows of a log that a step writes, at the cadences of LogConfig. Runs and replays share them.

#include <chrono>
#include <optional>

#include "sim/probe/probe.hpp"

namespace onebit::sim {

/// Which rows a step has.
struct RowsDue {
  bool step = false, workers = false, tensors = false;
};

/// Returns which rows a step has. probed: whether the step is probed. steps: number of steps of the run.
RowsDue rows_due(const LogConfig& config, Index step, bool probed, Index steps);

/// Rows of /steps and /workers; each is empty if it is not due.
struct StepRows {
  std::optional<StepRow> step;  ///< without its times
  std::optional<WorkerRow> workers;
};

/// Measures the rows of /steps and /workers that are due.
StepRows measure_rows(const MeasuredDevices& devices, const StepOutcome& outcome, const RowsDue& due);

/// Determines when a log is due to be flushed.
class FlushClock {
 public:
  explicit FlushClock(const LogConfig& config) : by_steps_(config.flush_every), seconds_(config.flush_seconds) {}

  bool due(Index step) const;
  /// Restarts the clock. To be called after every flush.
  void restart() { last_ = Clock::now(); }

 private:
  using Clock = std::chrono::steady_clock;
  Index by_steps_;
  double seconds_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace onebit::sim
