#include "optim/zero_one/zero_one_schedule.hpp"

#include <algorithm>
#include <cmath>

#include "optim/adam/adam_core.hpp"

namespace onebit::optim {
namespace {

void check(const std::string& option, Index value) {
  check_option(value >= 1, option, static_cast<double>(value), "at least 1");
}

}  // namespace

void check_zero_one(const ZeroOneConfig& config) {
  check("var-freeze-step", config.var_freeze_step);
  check("var-update-scaler", config.var_update_scaler);
  check("local-step-scaler", config.local_step_scaler);
  check("local-step-clipper", config.local_step_clipper);
}

Event variance_frozen(Index variance_updates, Index updates, Index masked) {
  return {"freeze", "variance frozen after " + std::to_string(variance_updates) + " updates in " +
                        std::to_string(updates) + " steps, " + std::to_string(masked) + " coordinates masked"};
}

Phase phase_of(Round round) {
  switch (round) {
    case Round::full:
      return Phase::warmup;
    case Round::one_bit:
      return Phase::compression;
    default:
      return Phase::local;
  }
}

Index usual_zero_one_steps(const OptimizerConfig& config, double share) {
  constexpr double most = 0x1p62;  // an Index can hold it
  return static_cast<Index>(std::min(most, std::ceil(static_cast<double>(config.zeroone.var_freeze_step) / share)));
}

void ZeroOneSchedule::visit_state(device::StateVisitor& visitor) {
  visitor.number("count", count_);
  visitor.number("variance_interval", variance_interval_);
  visitor.number("variance_updates", variance_updates_);
  visitor.number("local_interval", local_interval_);
  visitor.number("local_steps", local_steps_);
}

Round ZeroOneSchedule::next() {
  const Index step = count_++;
  const Round round = step <= config_.var_freeze_step ? next_shared() : next_local();
  return step == last_step_ && round == Round::silent ? Round::sync : round;
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
