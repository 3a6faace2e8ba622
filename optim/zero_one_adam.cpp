#include "optim/zero_one_adam.hpp"

#include "device/launch.hpp"
#include "device/stopwatch.hpp"
#include "optim/row_kernels.hpp"
#include "optim/zero_one_kernels.hpp"

namespace onebit::optim {
namespace {

/// The released code treats padding as data.
compress::ExchangeConfig exchange_of(const OptimizerConfig& config) {
  compress::ExchangeConfig exchange = config.exchange;
  if (config.semantics == Semantics::deepspeed) exchange.padding = compress::Padding::as_data;
  return exchange;
}

OptimizerConfig without_freeze(OptimizerConfig config) {
  config.freeze.policy = "never";  // the schedule has intervals of its own
  return config;
}

}  // namespace

ZeroOneAdam::ZeroOneAdam(const Problem& problem, const OptimizerConfig& config)
    : problem_(problem),
      config_(config),
      schedule_(config.zeroone),
      core_(problem, without_freeze(config)),
      exchange_(problem.shard, problem.tensors, exchange_of(config)),
      clipping_(problem.shard, problem.parameters(), config.clip),
      gradient_(problem.shard.device, problem.parameters()) {}

StateView ZeroOneAdam::state() const {
  return {.momentum = local_ ? &local_->momentum() : &core_.momentum(),
          .variance = &core_.variance(),
          .exchange = &exchange_,
          .exchanged = exchanges() && (round_ == Round::one_bit || round_ == Round::sync)};
}

/// The run ends with one model: its last step is not silent, but in the released code.
Round ZeroOneAdam::next_round() {
  if (dry_run()) return Round::full;
  const Round round = schedule_.next();
  const bool last = !deepspeed() && step() == problem_.total_steps;
  return last && round == Round::silent ? Round::sync : round;
}

void ZeroOneAdam::do_begin() {
  round_ = next_round();
  encode_seconds_ = 0;
  clipping_.begin();
  if (round_ == Round::one_bit || round_ == Round::sync) exchange_.begin(step());
}

void ZeroOneAdam::do_absorb(Range group, const float* gradients, Index stride) {
  if (round_ == Round::full) return core_.absorb_dense(group, gradients, stride);
  const float* factors = clipping_.factors(group, gradients, stride);
  device::Stopwatch watch(device());
  if (round_ != Round::one_bit) {
    local_->absorb({group.first - problem_.shard.own().first, group.count}, gradients, stride, factors);
  } else if (exchanges()) {
    exchange_.absorb(group, {.shared = core_.momentum().data(),
                             .shared_factor = 0,
                             .rows = gradients,
                             .stride = stride,
                             .factors = factors});
  }
  encode_seconds_ += watch.lap();
}

StepReport ZeroOneAdam::do_finish(device::Buffer<float>& parameters) {
  StepReport report;
  report.seconds.encode = encode_seconds_;
  if (dry_run()) {
    report.phase = Phase::dry_run;
    core_.average_dense(report);
    return report;
  }
  ++updates_;
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
  report.masked = masked_;
  return report;
}

void ZeroOneAdam::finish_full(device::Buffer<float>& x, StepReport& report) {
  report.phase = Phase::warmup;
  core_.dense_update(updates_, ++variance_updates_, lr(), x, report);
  report.variance_ratio = kNotMeasured;  // full rounds are not evenly spaced
  spread(x);
}

void ZeroOneAdam::finish_one_bit(device::Buffer<float>& x, StepReport& report) {
  report.phase = Phase::compression;
  clipping_.report(report);
  if (exchanges()) {
    const compress::ExchangeSeconds seconds = exchange_.exchange(gradient_.data(), report.traffic);
    report.seconds.exchange = seconds.exchange;
    report.seconds.server = seconds.server;
  }
  device::Stopwatch watch(device());
  if (exchanges()) {
    const MomentumRowsKernel kernel{core_.momentum().data(),
                                    core_.parameters(),
                                    gradient_.data(),
                                    0,
                                    static_cast<float>(config_.beta1),
                                    static_cast<float>(1 - config_.beta1),
                                    nullptr};
    for_each_row(device(), 1, core_.parameters(), kernel);
  }
  report.update_norm = core_.frozen_update(numbers(updates_), /*mask=*/!deepspeed(), x);
  spread(x);
  report.seconds.update = watch.lap();
}

void ZeroOneAdam::finish_local(device::Buffer<float>& x, StepReport& report) {
  report.phase = Phase::local;
  report.synchronised = round_ == Round::sync;
  clipping_.report(report);
  device::Stopwatch watch(device());
  const double before = report.seconds.codec();
  const std::vector<double> squares =
      report.synchronised ? local_->meet(numbers(updates_), exchange_, x, report) : local_->step(numbers(updates_), x);
  report.update_norm = root_mean_square(problem_.shard, squares);
  report.seconds.update = watch.lap() - (report.seconds.codec() - before);
}

/// The shared step was made in the first row.
void ZeroOneAdam::spread(device::Buffer<float>& x) const {
  const Index columns = core_.parameters();
  for_each_row(device(), problem_.shard.own().count - 1, columns, SpreadKernel{x.data(), x.data() + columns, columns});
}

void ZeroOneAdam::freeze(const device::Buffer<float>& x) {
  exchange_.reset_errors();
  local_.emplace(problem_, config_, core_.momentum(), core_.variance(), x);
  if (!deepspeed()) {
    masked_ = static_cast<Index>(row_sums(device(), 1, core_.parameters(), ZeroTerm{core_.variance().data()})[0]);
  }
}

void ZeroOneAdam::report_freeze(StepReport& report) {
  report.events.push_back({"freeze", "variance frozen after " + std::to_string(variance_updates_) + " updates in " +
                                         std::to_string(updates_) + " steps, " + std::to_string(masked_) +
                                         " coordinates masked"});
}

}  // namespace onebit::optim
