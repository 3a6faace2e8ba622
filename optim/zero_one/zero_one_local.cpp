#include "optim/zero_one/zero_one_local.hpp"

#include <utility>

#include "device/launch/launch.hpp"
#include "device/launch/stopwatch.hpp"
#include "optim/common/row_kernels.hpp"
#include "optim/common/rows.hpp"
#include "optim/zero_one/zero_one_kernels.hpp"

namespace onebit::optim {

ZeroOneLocal::ZeroOneLocal(const Problem& problem, const OptimizerConfig& config, const ZeroOneAdamQuirks& quirks,
                           const device::Buffer<float>& variance)
    : problem_(problem),
      config_(config),
      quirks_(quirks),
      parameters_(problem.parameters()),
      variance_(variance),
      decay_(parameter_decay(problem, config)),
      momentum_(device(), rows() * parameters_),
      drift_(device::Buffer<float>::zeros(device(), rows() * parameters_)),
      scaled_(device(), quirks_.subtracts_drift ? rows() * parameters_ : 0),
      anchor_(device(), parameters_),
      mean_(device(), parameters_),
      ones_(device::Buffer<float>::copy_of(device(), std::vector<float>(static_cast<std::size_t>(rows()), 1.0f))) {}

void ZeroOneLocal::start(const device::Buffer<float>& momentum, const device::Buffer<float>& x) {
  for_each_row(device(), rows(), parameters_, SpreadKernel{momentum.data(), momentum_.data(), parameters_});
  for_each_row(device(), 1, parameters_, SpreadKernel{x.data(), anchor_.data(), parameters_});
}

void ZeroOneLocal::visit_state(device::StateVisitor& visitor) {
  visitor.rows("momentum", momentum_, parameters_);
  visitor.rows("drift", drift_, parameters_);
  visitor.shared("anchor", anchor_);
  visitor.number("rates", rates_);
}

void ZeroOneLocal::absorb(Range rows, const float* gradients, Index stride, const float* factors) {
  const MomentumRowsKernel kernel{momentum_.data() + rows.first * parameters_, parameters_, gradients, stride,
                                  static_cast<float>(config_.beta1),           factors};
  for_each_row(device(), rows.count, parameters_, kernel);
}

/// Applies weight decay to the anchor, as the steps do to the weights; the decay is not part of the drift.
void ZeroOneLocal::decay(const AdamStep& numbers) {
  if (config_.weight_decay == 0) return;
  for_each(device(), parameters_, DecayKernel{numbers.lr, decay_.data(), anchor_.data()});
}

std::vector<double> ZeroOneLocal::step(const AdamStep& numbers, device::Buffer<float>& x) {
  rates_ += static_cast<double>(numbers.lr) * static_cast<double>(numbers.momentum_correction);
  if (quirks_.subtracts_drift) {
    return row_sums(device(), rows(), parameters_,
                    ReleasedMoveKernel{numbers, decay_.data(), momentum_.data(), variance_.data(), x.data(),
                                       drift_.data(), parameters_});
  }
  decay(numbers);
  for_each_row(device(), rows(), parameters_,
               ZeroOneDriftKernel{numbers, momentum_.data(), variance_.data(), drift_.data(), parameters_});
  return row_sums(device(), rows(), parameters_,
                  ZeroOneMoveKernel{numbers, decay_.data(), momentum_.data(), variance_.data(), x.data(), parameters_});
}

std::vector<double> ZeroOneLocal::synchronise(const AdamStep& numbers, compress::CompressedMean& exchange,
                                              device::Buffer<float>& x, StepReport& report) {
  rates_ += static_cast<double>(numbers.lr) * static_cast<double>(numbers.momentum_correction);
  if (!quirks_.subtracts_drift) {
    decay(numbers);
    for_each_row(device(), rows(), parameters_,
                 ZeroOneDriftKernel{numbers, momentum_.data(), variance_.data(), drift_.data(), parameters_});
    exchange_drift(drift_, exchange, report);
    return synchronise_at_anchor(numbers, x);
  }
  for_each_row(device(), rows(), parameters_,
               ReleasedDriftKernel{numbers, decay_.data(), momentum_.data(), variance_.data(), x.data(), drift_.data(),
                                   scaled_.data(), parameters_});
  const bool alone = quirks_.idle_alone && problem_.shard.workers() == 1;
  if (!alone) exchange_drift(scaled_, exchange, report);
  return row_sums(
      device(), rows(), parameters_,
      ReleasedSynchroniseKernel{numbers, decay_.data(), take_share(-1), momentum_.data(), variance_.data(),
                                alone ? scaled_.data() : mean_.data(), x.data(), drift_.data(), parameters_});
}

std::vector<double> ZeroOneLocal::synchronise_at_anchor(const AdamStep& numbers, device::Buffer<float>& x) {
  for_each(device(), parameters_,
           ZeroOneSynchroniseKernel{numbers, take_share(1), anchor_.data(), mean_.data(), variance_.data()});
  for_each_row(device(), rows(), parameters_, SpreadKernel{mean_.data(), momentum_.data(), parameters_});
  drift_.zero();
  return row_sums(device(), rows(), parameters_, SynchroniseKernel{anchor_.data(), x.data(), parameters_});
}

/// Exchanges the drifts of all of this device's workers at once.
void ZeroOneLocal::exchange_drift(const device::Buffer<float>& drift, compress::CompressedMean& exchange,
                                  StepReport& report) {
  device::Stopwatch watch(device());
  exchange.absorb(problem_.shard.own(), {.rows = drift.data(), .stride = parameters_, .factors = ones_.data()});
  report.seconds.encode += watch.lap();
  const compress::ExchangeSeconds seconds = exchange.exchange(mean_.data(), report.traffic);
  report.seconds.exchange = seconds.exchange;
  report.seconds.server = seconds.server;
}

/// Returns the factor that turns the exchanged drift into the average of the momenta that made it, and restarts the
/// sum.
float ZeroOneLocal::take_share(double sign) {
  const double rates = std::exchange(rates_, 0.0);
  return rates > 0 ? static_cast<float>(sign / rates) : 0.0f;  // at a rate of 0 nothing moved
}

}  // namespace onebit::optim
