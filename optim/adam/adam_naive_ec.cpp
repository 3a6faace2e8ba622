#include "optim/adam/adam_naive_ec.hpp"

#include "device/launch/stopwatch.hpp"
#include "optim/quirks.hpp"

namespace onebit::optim {

AdamNaiveEc::AdamNaiveEc(const Problem& problem, const OptimizerConfig& config)
    : core_(problem, without_freeze(config)),
      clipping_(problem, config.clip),
      exchange_(problem.shard, problem.tensors, exchange_of(config, TwoStageQuirks::of(config).padding_as_data)) {}

StateView AdamNaiveEc::state() const {
  const Denominator denominator = core_.denominator(core_.variance(), step());
  return {.momentum = &core_.momentum(),
          .variance = &core_.variance(),
          .exchange = &exchange_,
          .exchanged = step() > 0,
          .denominator = denominator,
          .shadow = denominator};
}

void AdamNaiveEc::do_begin() {
  encode_seconds_ = 0;
  clipping_.begin();
  exchange_.begin(step());
}

void AdamNaiveEc::do_absorb(Range group, const float* gradients, Index stride) {
  const float* factors = clipping_.factors(group, gradients, stride, 1);
  device::Stopwatch watch(core_.device());
  exchange_.absorb(group, {.rows = gradients, .stride = stride, .factors = factors});
  encode_seconds_ += watch.lap();
}

StepReport AdamNaiveEc::do_finish(device::Buffer<float>& parameters) {
  StepReport report;
  report.phase = exchange_.averages() ? Phase::warmup : Phase::compression;
  const compress::ExchangeSeconds seconds = exchange_.exchange(core_.mean().data(), report.traffic);
  report.seconds = {.encode = encode_seconds_, .exchange = seconds.exchange, .server = seconds.server, .update = 0};
  clipping_.report(report);
  core_.update(core_.numbers(step(), step(), lr()), parameters, report);
  return report;
}

}  // namespace onebit::optim
