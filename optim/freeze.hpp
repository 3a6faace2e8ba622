#pragma once
// When the variance may be frozen: the end of 1-bit Adam's warm-up stage.

#include <deque>
#include <string>

#include "device/state.hpp"

namespace onebit::optim {

struct FreezeConfig {
  std::string policy = "fraction:0.15";  ///< fixed:K | fraction:F | auto | never
  double threshold = 0.96;               ///< auto: smallest min(r, 1/r), r = ||v_t||_1 / ||v_{t-lag}||_1
  Index lag = 0;                         ///< auto: steps between the two norms; 0 means round(1 / (1 - beta2))
  Index after = 0;  ///< auto: not before this many dense updates; at least the learning-rate warm-up
};

/// Ratio min(r, 1/r) of a norm to its value `lag` updates ago; NaN as long as there is none.
class StabilityRatio {
 public:
  explicit StabilityRatio(Index lag) : lag_(lag) {}

  /// Takes the norm after one more update and returns the ratio.
  double push(double norm);

  void visit_state(device::StateVisitor& visitor) { visitor.numbers("history", history_); }

 private:
  Index lag_;
  std::deque<double> history_;  // the last norms, at most lag_
};

/// Decides after each dense update whether the variance is frozen now (1-bit Adam, Tang et al. 2021, section 7.1: the
/// automatic rule; DeepSpeed has the fixed one only).
class FreezePolicy {
 public:
  /// total_steps, lr_warmup and dry_runs (steps that update nothing) in steps; beta2 gives the default lag. Throws
  /// ConfigError for a malformed policy, values out of range, or a fixed point at or beyond the end of the run (the run
  /// would never compress).
  FreezePolicy(const FreezeConfig& config, Index total_steps, Index lr_warmup, double beta2, Index dry_runs = 0);

  enum class Kind { fixed, automatic, never };
  Kind kind() const { return kind_; }
  /// Dense updates before the freeze (kind fixed).
  Index fixed_updates() const { return updates_; }
  Index lag() const { return lag_; }

  /// updates: dense updates made so far; ratio: stability ratio after the last of them, NaN if none.
  bool freeze_now(Index updates, double ratio) const;

 private:
  Kind kind_ = Kind::never;
  Index updates_ = 0;
  Index lag_ = 0;
  Index after_ = 0;
  double threshold_ = 0;
};

}  // namespace onebit::optim
