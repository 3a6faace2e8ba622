#include "optim/two_stage/stability.hpp"

#include <algorithm>
#include <cmath>

namespace onebit::optim {

double VarianceBias::weight(Index updates) const {
  return removed && updates > 0 ? 1 - std::pow(beta2, static_cast<double>(updates)) : 1;
}

double stability_ratio(double now, double before) {
  if (!(now > 0 && before > 0)) return std::numeric_limits<double>::quiet_NaN();
  return std::min(now / before, before / now);
}

Stability StabilityWatch::push(double norm) {
  ++updates_;
  Stability result;
  if (static_cast<Index>(history_.size()) == lag_) {
    const double before = history_.front();
    history_.pop_front();
    result.raw = stability_ratio(norm, before);
    result.corrected = stability_ratio(norm / bias_.weight(updates_), before / bias_.weight(updates_ - lag_));
  }
  history_.push_back(norm);
  return result;
}

void StabilityWatch::visit_state(device::StateVisitor& visitor) {
  visitor.numbers("history", history_);
  visitor.number("updates", updates_);
}

bool Dwell::push(Index step, double ratio) {
  if (std::isnan(ratio)) return false;
  if (ratio < threshold_) first_ = 0;
  if (ratio >= threshold_ && first_ == 0) first_ = step;
  return first_ > 0 && step - first_ + 1 >= steps_;
}

}  // namespace onebit::optim
