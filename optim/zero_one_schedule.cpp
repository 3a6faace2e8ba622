#include "optim/zero_one_schedule.hpp"

#include <algorithm>

#include "device/error.hpp"

namespace onebit::optim {
namespace {

void check(const std::string& option, Index value) {
  if (value >= 1) return;
  throw ConfigError("optimizer option out of range", "optimizer." + option + " " + std::to_string(value), "at least 1");
}

}  // namespace

void check_zero_one(const ZeroOneConfig& config) {
  check("var-freeze-step", config.var_freeze_step);
  check("var-update-scaler", config.var_update_scaler);
  check("local-step-scaler", config.local_step_scaler);
  check("local-step-clipper", config.local_step_clipper);
}

Round ZeroOneSchedule::next() {
  ++count_;
  return count_ - 1 <= config_.var_freeze_step ? next_shared() : next_local();
}

Round ZeroOneSchedule::next_shared() {
  if (count_ % variance_interval_ != 0) return Round::one_bit;
  if (++variance_updates_ == config_.var_update_scaler) {
    variance_updates_ = 0;
    variance_interval_ *= 2;
  }
  return Round::full;
}

Round ZeroOneSchedule::next_local() {
  const Round round = count_ % local_interval_ == 0 ? Round::sync : Round::silent;
  if (++local_steps_ == config_.local_step_scaler) {
    local_steps_ = 0;
    local_interval_ = std::min(config_.local_step_clipper, 2 * local_interval_);
  }
  return round;
}

}  // namespace onebit::optim
