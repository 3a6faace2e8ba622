#include "optim/zero_one/zero_one_adam_32.hpp"

#include <utility>

#include "device/launch/launch.hpp"
#include "optim/common/step_counts.hpp"
#include "optim/lamb/lamb_kernels.hpp"

namespace onebit::optim {

namespace {

/// Returns the phase of a step. Every step averages gradients; the variance is updated in warm-up steps.
Phase phase_in(Round round) {
  return round == Round::full ? Phase::warmup : Phase::compression;
}

std::vector<StepCount> count(const OptimizerConfig& config, Index steps) {
  check_zero_one(config.zeroone);
  ZeroOneSchedule rounds(config.zeroone);
  return count_steps(steps, [&](Index) { return std::pair(phase_in(rounds.next()), true); });
}

/// Selects paper semantics, because the released code has no such optimizer.
OptimizerConfig of_paper(OptimizerConfig config) {
  config.semantics = Semantics::paper;
  return without_freeze(std::move(config));
}

}  // namespace

const StepSchedule ZeroOneAdam32::kSchedule = {count, usual_zero_one_steps};

ZeroOneAdam32::ZeroOneAdam32(const Problem& problem, const OptimizerConfig& config)
    : problem_(problem), config_(of_paper(config)), schedule_(config_.zeroone), core_(problem, config_) {}

StateView ZeroOneAdam32::state() const {
  return {.momentum = &core_.momentum(),
          .variance = &core_.variance(),
          .denominator = core_.denominator(core_.variance(), variance_updates_)};
}

void ZeroOneAdam32::visit_state(device::StateVisitor& visitor) {
  visitor.group("schedule", [&] { schedule_.visit_state(visitor); });
  core_.visit_state(visitor);
  visitor.number("updates", updates_);
  visitor.number("variance_updates", variance_updates_);
  if (updates_ < config_.zeroone.var_freeze_step) return;
  if (visitor.loads()) masked_.emplace(problem_.shard, core_.variance());
  visitor.group("masked", [&] { masked_->visit_state(visitor); });
}

void ZeroOneAdam32::do_absorb(Range group, const float* gradients, Index stride) {
  if (masked_) masked_->watch(group, gradients, stride);
  core_.absorb_dense(group, gradients, stride);
}

StepReport ZeroOneAdam32::do_finish(device::Buffer<float>& parameters) {
  StepReport report;
  ++updates_;
  core_.average_dense(core_.mean(), report);
  AdamStep step = core_.clipped_step(updates_, lr(), report);
  if (round_ == Round::full) ++variance_updates_;
  step.root_correction = core_.numbers(updates_, variance_updates_, lr()).root_correction;
  report.phase = phase_in(round_);
  if (round_ == Round::full) {
    core_.update(step, parameters, report);
    report.stability = {};  // full rounds are not evenly spaced
  } else {
    move_by_momentum(step, parameters, report);
  }
  if (masked_) masked_->report(report);
  if (updates_ == config_.zeroone.var_freeze_step) freeze(report);
  report.masked = masked_ ? masked_->count() : 0;
  return report;
}

void ZeroOneAdam32::move_by_momentum(AdamStep step, device::Buffer<float>& x, StepReport& report) {
  step.beta2 = 1;  // leaves the variance unchanged
  step.one_minus_beta2 = 0;
  for_each(core_.device(), core_.parameters(),
           MomentKernel{step, core_.momentum().data(), core_.variance().data(), core_.mean().data()});
  core_.apply(step, /*mask=*/true, x, report);
}

void ZeroOneAdam32::freeze(StepReport& report) {
  masked_.emplace(problem_.shard, core_.variance());
  report.events.push_back(variance_frozen(variance_updates_, updates_, masked_->count()));
}

}  // namespace onebit::optim
