#pragma once
// Replays an optimizer on the recorded gradients of a trace.

#include <functional>

#include "device/comm/device_group.hpp"
#include "sim/run/config.hpp"
#include "sim/run/trace.hpp"

namespace onebit::experiments {

/// How to replay a trace.
struct ReplayPlan {
  sim::RunConfig config;  ///< configuration of the run; with one worker, it gets the mean of the recorded gradients
  double penalty = 0;     ///< multiple of the weights added to every gradient (an L2 penalty)
};

class Replay {
 public:
  /// Prepares a replay. Throws ConfigError for an optimizer that needs gradients at points that it chooses itself.
  Replay(const sim::GradientTrace& trace, const ReplayPlan& plan);

  /// Whether workers have parameters of their own.
  bool local_weights() const { return seats_.front().optimizer->local_weights(); }

  /// Takes all steps of the trace. After each step, counted from 1, `use` gets the parameters: one row, or one per
  /// worker if workers have their own. Throws NumericError if an update is not finite, and Error if an
  /// expectation of the optimizer failed.
  void run(const std::function<void(Index step, const std::vector<float>& x)>& use);

 private:
  /// State on one device.
  struct Seat {
    device::Shard shard;
    std::unique_ptr<optim::Optimizer> optimizer;
    device::Buffer<float> x, gradients;
  };
  Seat make_seat(const device::Shard& shard) const;
  Index workers() const { return config_.workers == 1 ? 1 : trace_.workers(); }
  void read_step(Index step, std::vector<float>& gradients) const;
  void step(Seat& seat, Index step, double lr, const std::vector<float>& gradients) const;
  std::string first_bad_gradient(const Seat& seat, const std::vector<float>& gradients) const;
  std::vector<float> parameters() const;

  const sim::GradientTrace& trace_;
  sim::RunConfig config_;
  double penalty_;
  device::DeviceGroup group_;
  std::vector<Seat> seats_;
};

}  // namespace onebit::experiments
