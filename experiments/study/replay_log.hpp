#pragma once
// The log of a replay, in the format of a run's log. The gradients come from a trace: the columns that need a model or
// data have no values, and there are no evaluations. The log of a compact trace has only the norms that follow from it:
// of the gradients and of the variance.

#include <chrono>

#include "experiments/study/replay.hpp"
#include "experiments/study/training.hpp"
#include "sim/log/writer.hpp"
#include "sim/run/step_rows.hpp"

namespace onebit::experiments {

/// Returns whether a run's option is meaningful in a replay: this holds for the options of the optimizer, the exchange,
/// the freeze, the schedule and the devices.
bool is_of_replay(const std::string& option);

class ReplayLog {
 public:
  /// Creates the log. reference: name of the case that is replayed; may be empty. Throws what LogWriter throws.
  ReplayLog(const std::string& path, bool overwrite, const Origin& origin, const sim::GradientTrace& trace,
            const std::string& reference, const ReplayPlan& plan, Replay& replay);

  /// Appends the rows of a step.
  void take(const sim::StepOutcome& outcome);
  /// Closes the log of a complete replay, and compresses it if log.compression says so. Throws IoError.
  void finish();
  /// Closes the log of a replay that ended before its last step. kind: kind of the event that gives the reason.
  void fail(sim::RunStatus status, const std::string& kind, const std::string& reason);

 private:
  using Clock = std::chrono::steady_clock;

  sim::StepRow known(sim::StepRow row) const;
  sim::TensorRow known(sim::TensorRow row) const;

  std::string path_;
  bool compact_;
  sim::RunConfig config_;
  sim::MeasuredDevices devices_;
  sim::LogWriter writer_;
  sim::FlushClock flushes_{config_.log};
  Index step_ = 0;                         ///< last step
  Clock::time_point last_ = Clock::now();  ///< time of the last row of /steps
  double codec_seconds_ = 0;               ///< codec time since the last row
};

}  // namespace onebit::experiments
