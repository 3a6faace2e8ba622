#include "optim/zero_one/zero_one_adam.hpp"

#include "device/launch/launch.hpp"
#include "device/launch/stopwatch.hpp"
#include "optim/common/row_kernels.hpp"
#include "optim/common/rows.hpp"
#include "optim/common/step_counts.hpp"

namespace onebit::optim {
namespace {

ZeroOneSchedule rounds_of(const OptimizerConfig& config, const ZeroOneAdamQuirks& quirks, Index total_steps) {
  return ZeroOneSchedule(config.zeroone, quirks.may_end_silent ? 0 : total_steps);
}

std::vector<StepCount> count(const OptimizerConfig& config, Index steps) {
  check_zero_one(config.zeroone);
  const ZeroOneAdamQuirks quirks = ZeroOneAdamQuirks::of(config);
  ZeroOneSchedule rounds = rounds_of(config, quirks, steps);
  return count_steps(steps, [&](Index step) {
    if (quirks.dry_run && step == 1) return std::pair(Phase::dry_run, true);
    const Round round = rounds.next();
    return std::pair(phase_of(round), round != Round::silent);
  });
}

}  // namespace

const StepSchedule ZeroOneAdam::kSchedule = {count, usual_zero_one_steps};

ZeroOneAdam::ZeroOneAdam(const Problem& problem, const OptimizerConfig& config)
    : problem_(problem),
      config_(config),
      quirks_(ZeroOneAdamQuirks::of(config)),
      schedule_(rounds_of(config, quirks_, problem.total_steps)),
      core_(problem, without_freeze(config)),
      exchange_(problem.shard, problem.tensors, exchange_of(config, quirks_.padding_as_data)),
      clipping_(problem, config.clip),
      share_(device::Buffer<float>::copy_of(problem.shard.device,
                                            std::vector<float>{static_cast<float>(1 - config.beta1)})),
      gradient_(problem.shard.device, problem.parameters()) {}

StateView ZeroOneAdam::state() const {
  return {.momentum = local_ ? &local_->momentum() : &core_.momentum(),
          .variance = &core_.variance(),
          .exchange = &exchange_,
          .exchanged = exchanges() && (round_ == Round::one_bit || round_ == Round::sync)};
}

void ZeroOneAdam::visit_state(device::StateVisitor& visitor) {
  visitor.group("schedule", [&] { schedule_.visit_state(visitor); });
  core_.visit_state(visitor);
  exchange_.visit_state(visitor);
  visitor.number("updates", updates_);
  visitor.number("variance_updates", variance_updates_);
  if (updates_ < config_.zeroone.var_freeze_step) return;
  if (visitor.loads()) start_local();
  visitor.group("local", [&] { local_->visit_state(visitor); });
  if (masked_) visitor.group("masked", [&] { masked_->visit_state(visitor); });
}

void ZeroOneAdam::do_begin() {
  round_ = dry_run() ? Round::full : schedule_.next();
  encode_seconds_ = 0;
  clipping_.begin();
  if (round_ == Round::one_bit || round_ == Round::sync) exchange_.begin(step());
}

void ZeroOneAdam::do_absorb(Range group, const float* gradients, Index stride) {
  if (round_ == Round::full) return core_.absorb_dense(group, gradients, stride);
  const bool local = round_ != Round::one_bit;
  const float* factors = clipping_.factors(group, gradients, stride, local ? 1 - config_.beta1 : 1);
  if (masked_) masked_->watch(group, gradients, stride);
  device::Stopwatch watch(device());
  if (local) {
    local_->absorb({group.first - problem_.shard.own().first, group.count}, gradients, stride, factors);
  } else if (exchanges()) {
    exchange_.absorb(group, {.rows = gradients, .stride = stride, .factors = factors});
  }
  encode_seconds_ += watch.lap();
}

StepReport ZeroOneAdam::do_finish(device::Buffer<float>& parameters) {
  StepReport report;
  report.seconds.encode = encode_seconds_;
  if (dry_run()) {
    report.phase = Phase::dry_run;
    core_.average_dense(core_.mean(), report);
    return report;
  }
  ++updates_;
  report.phase = phase_of(round_);
  switch (round_) {
    case Round::full:
      finish_full(parameters, report);
      break;
    case Round::one_bit:
      finish_one_bit(parameters, report);
      break;
    default:
      finish_local(parameters, report);
  }
  if (updates_ == config_.zeroone.var_freeze_step) {
    freeze(parameters);
    report_freeze(report);
  }
  report.masked = masked_ ? masked_->count() : 0;
  return report;
}

void ZeroOneAdam::finish_full(device::Buffer<float>& x, StepReport& report) {
  ++variance_updates_;
  core_.average_dense(core_.mean(), report);
  AdamStep step = core_.clipped_step(updates_, lr(), report);
  step.root_correction = numbers().root_correction;
  core_.update(step, x, report);
  report.stability = {};  // full rounds are not evenly spaced
  spread(x);
}

void ZeroOneAdam::finish_one_bit(device::Buffer<float>& x, StepReport& report) {
  clipping_.report(report);
  if (exchanges()) {
    const compress::ExchangeSeconds seconds = exchange_.exchange(gradient_.data(), report.traffic);
    report.seconds.exchange = seconds.exchange;
    report.seconds.server = seconds.server;
  }
  if (exchanges()) {
    const MomentumRowsKernel kernel{core_.momentum().data(),           core_.parameters(), gradient_.data(), 0,
                                    static_cast<float>(config_.beta1), share_.data()};
    for_each_row(device(), 1, core_.parameters(), kernel);
  }
  core_.apply(numbers(), /*mask=*/!quirks_.masks_nothing, x, report);
  spread(x);
}

void ZeroOneAdam::finish_local(device::Buffer<float>& x, StepReport& report) {
  report.synchronised = round_ == Round::sync;
  clipping_.report(report);
  if (masked_) masked_->report(report);
  device::Stopwatch watch(device());
  const double before = report.seconds.codec();
  const std::vector<double> squares =
      report.synchronised ? local_->synchronise(numbers(), exchange_, x, report) : local_->step(numbers(), x);
  report.update_norm = root_mean_square(problem_.shard, squares);
  report.seconds.update = watch.lap() - (report.seconds.codec() - before);
}

/// Copies the first row, in which the shared step was made, to the other rows.
void ZeroOneAdam::spread(device::Buffer<float>& x) const {
  const Index columns = core_.parameters();
  for_each_row(device(), problem_.shard.own().count - 1, columns, SpreadKernel{x.data(), x.data() + columns, columns});
}

void ZeroOneAdam::freeze(const device::Buffer<float>& x) {
  exchange_.restart();
  start_local();
  local_->start(core_.momentum(), x);
}

/// Creates the local phase with the frozen variance.
void ZeroOneAdam::start_local() {
  local_.emplace(problem_, config_, quirks_, core_.variance());
  if (!quirks_.masks_nothing) masked_.emplace(problem_.shard, core_.variance());
}

void ZeroOneAdam::report_freeze(StepReport& report) {
  report.events.push_back(variance_frozen(variance_updates_, updates_, masked_ ? masked_->count() : 0));
}

}  // namespace onebit::optim
