#pragma once
// Measures whether the variance is stable. The rule that freezes it, the log and its analysis share this code.

#include <deque>
#include <limits>

#include "device/comm/state.hpp"

namespace onebit::optim {

/// The bias of a variance that starts at 0: after t updates with the same gradient, the variance is 1 - beta2^t times
/// that gradient's square.
struct VarianceBias {
  double beta2 = 0;
  bool removed = false;  ///< whether the optimizer removes it; if not, steps use the stored variance

  /// The number by which the variance is divided after `updates` updates; 1 if the bias is not removed, or before the
  /// first update.
  double weight(Index updates) const;
};

/// Returns min(r, 1/r), where r = now / before; NaN unless both are above 0.
double stability_ratio(double now, double before);

/// Stability ratios of a norm of the variance after an update; NaN if there is none.
struct Stability {
  double raw = std::numeric_limits<double>::quiet_NaN();        ///< ratio of the stored variance, bias included
  double corrected = std::numeric_limits<double>::quiet_NaN();  ///< ratio of the variance that steps use
};

/// Compares a norm of the variance with its value `lag` updates ago.
class StabilityWatch {
 public:
  StabilityWatch(Index lag, const VarianceBias& bias) : lag_(lag), bias_(bias) {}

  /// Takes the norm of the stored variance after one more update. Returns the ratios to the norms `lag` updates ago.
  Stability push(double norm);

  void visit_state(device::StateVisitor& visitor);

 private:
  Index lag_;
  VarianceBias bias_;
  Index updates_ = 0;
  std::deque<double> history_;  // the last norms, at most lag_
};

/// The stretch of steps over which a ratio has stayed at a threshold or above.
class Dwell {
 public:
  /// Starts without a stretch. steps: the length that the stretch must reach, at least 1.
  Dwell(double threshold, Index steps) : threshold_(threshold), steps_(steps) {}

  /// Takes the ratio at a step; step numbers increase. Returns whether the stretch is long enough now. A NaN is an
  /// unknown ratio: it changes nothing, and the result is false.
  bool push(Index step, double ratio);

  /// First step of the stretch; 0 if the last known ratio was below the threshold.
  Index first() const { return first_; }

  void visit_state(device::StateVisitor& visitor) { visitor.number("first", first_); }

 private:
  double threshold_;
  Index steps_;
  Index first_ = 0;
};

}  // namespace onebit::optim
