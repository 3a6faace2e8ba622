#pragma once
// Replays an optimizer on the recorded gradients of a trace.

#include <functional>

#include "device/comm/device_group.hpp"
#include "sim/probe/probe.hpp"
#include "sim/run/trace.hpp"

namespace onebit::experiments {

/// How to replay a trace.
struct ReplayPlan {
  sim::RunConfig config;  ///< configuration of the run; its workers are the trace's, or one with their mean gradient
  double penalty = 0;     ///< multiple of the weights added to every gradient (an L2 penalty)
};

class Replay {
 public:
  /// Prepares a replay. Throws ConfigError for an optimizer that needs gradients at points that it chooses itself.
  Replay(const sim::GradientTrace& trace, const ReplayPlan& plan);

  /// Whether workers have parameters of their own.
  bool local_weights() const { return seats_.front().optimizer->local_weights(); }
  Index workers() const { return config_.workers; }
  /// The configuration, with the replay's number of steps.
  sim::RunConfig config() const;
  /// Value of the option `devices`, and the number of threads.
  std::string devices() const;
  /// The devices, for the log. The replay must outlive the result.
  sim::MeasuredDevices measured();

  /// Receives what a step did, and the parameters after it: one row, or one per worker if workers have their own. The
  /// losses are the trace's, or NaN; no samples are counted, because a trace does not say how many there were.
  using OnStep = std::function<void(const sim::StepOutcome& outcome, const std::vector<float>& x)>;
  /// Takes all steps of the trace and calls `use` after each. Throws NumericError if an update is not finite, and Error
  /// if one of the optimizer's expectations is not met.
  void run(const OnStep& use);

 private:
  /// State on one device.
  struct Seat {
    device::Shard shard;
    std::unique_ptr<optim::Optimizer> optimizer;
    device::Buffer<float> x, gradients;
  };
  Seat make_seat(const device::Shard& shard) const;
  void read_step(Index step, std::vector<float>& gradients) const;
  std::vector<double> losses(Index step) const;
  optim::StepReport step(Seat& seat, Index step, double lr, const std::vector<float>& gradients) const;
  std::string first_bad_gradient(const Seat& seat, const std::vector<float>& gradients) const;
  std::vector<float> parameters() const;

  const sim::GradientTrace& trace_;
  sim::RunConfig config_;
  double penalty_;
  device::DeviceGroup group_;
  std::vector<Seat> seats_;
};

}  // namespace onebit::experiments
