#include "optim/sgd/local.hpp"

#include <cmath>

#include "device/launch/stopwatch.hpp"
#include "optim/common/row_kernels.hpp"
#include "optim/common/rows.hpp"
#include "optim/common/step_counts.hpp"

namespace onebit::optim {
namespace {

bool synchronises(const LocalConfig& local, Index step, Index total_steps) {
  return step % local.period == 0 || step == total_steps;
}

std::vector<StepCount> count(const OptimizerConfig& config, Index steps) {
  check_local(config.local);
  return count_steps(steps,
                     [&](Index step) { return std::pair(Phase::local, synchronises(config.local, step, steps)); });
}

Index one_period(const OptimizerConfig& config, double) {
  return config.local.period;
}

}  // namespace

const StepSchedule LocalOptimizer::kSchedule = {count, one_period};

void check_local(const LocalConfig& local) {
  const auto outer_lr = static_cast<float>(local.outer_lr);
  check_option(local.period >= 1, "local-period", static_cast<double>(local.period), "at least 1 step");
  check_option(std::isfinite(outer_lr) && outer_lr > 0, "outer-lr", local.outer_lr,
               "above 0 and finite in single precision");
  check_option(local.outer_momentum >= 0 && local.outer_momentum < 1, "outer-momentum", local.outer_momentum,
               "in [0, 1)");
}

LocalOptimizer::LocalOptimizer(const Problem& problem, const OptimizerConfig& config)
    : problem_(problem),
      config_(config),
      parameters_(problem.parameters()),
      clipping_(problem, config.clip),
      channel_(problem.shard, parameters_),
      decay_(parameter_decay(problem, config)),
      moved_(problem.shard.device, rows() * parameters_),
      point_(problem.shard.device, parameters_) {}

void LocalOptimizer::do_absorb(Range group, const float* gradients, Index stride) {
  const float* factors = clipping_.factors(group, gradients, stride, 1);
  take({group.first - problem_.shard.own().first, group.count}, gradients, stride, factors);
}

StepReport LocalOptimizer::do_finish(device::Buffer<float>& parameters) {
  StepReport report;
  report.phase = Phase::local;
  report.synchronised = synchronises(config_.local, step(), problem_.total_steps);
  clipping_.report(report);
  if (step() == 1) start(parameters);
  device::Stopwatch watch(device());
  const std::vector<double> squares =
      report.synchronised ? move_and_synchronise(parameters, report) : move(parameters.data(), parameters.data());
  report.update_norm = root_mean_square(problem_.shard, squares);
  report.seconds.update = watch.lap() - report.seconds.exchange;
  return report;
}

std::vector<double> LocalOptimizer::move_and_synchronise(device::Buffer<float>& x, StepReport& report) {
  move(x.data(), moved_.data());
  device::Stopwatch watch(device());
  channel_.absorb(problem_.shard.own(), moved_.data(), parameters_);
  channel_.exchange(point_.data(), report.traffic);
  synchronise(point_, report.traffic);
  report.seconds.exchange = watch.lap();
  return row_sums(device(), rows(), parameters_, SynchroniseKernel{point_.data(), x.data(), parameters_});
}

void LocalOptimizer::average(device::Buffer<float>& rows, netmodel::TrafficList& traffic) {
  channel_.absorb(problem_.shard.own(), rows.data(), parameters_);
  channel_.exchange(moved_.data(), traffic);  // overwrites the weights, which have been averaged already
  for_each_row(device(), this->rows(), parameters_, SpreadKernel{moved_.data(), rows.data(), parameters_});
}

LocalSgd::LocalSgd(const Problem& problem, const OptimizerConfig& config)
    : LocalOptimizer(problem, config), momentum_(zero_rows()) {}

void LocalSgd::take(Range rows, const float* gradients, Index stride, const float* factors) {
  const MomentumRowsKernel kernel{momentum_.data() + rows.first * parameters(), parameters(), gradients, stride,
                                  static_cast<float>(config().momentum),        factors};
  for_each_row(device(), rows.count, parameters(), kernel);
}

std::vector<double> LocalSgd::move(const float* from, float* to) {
  const SgdMoveKernel kernel{static_cast<float>(lr()), decay(), momentum_.data(), parameters(), from, to};
  return row_sums(device(), rows(), parameters(), kernel);
}

LocalAdam::LocalAdam(const Problem& problem, const OptimizerConfig& config)
    : LocalOptimizer(problem, config), bias_(variance_bias(config)), momentum_(zero_rows()), variance_(zero_rows()) {}

AdamStep LocalAdam::numbers() const {
  return adam_numbers(config(), bias_, step(), step(), lr());
}

void LocalAdam::take(Range rows, const float* gradients, Index stride, const float* factors) {
  const Index first = rows.first * parameters();
  const MomentsRowsKernel kernel{
      numbers(), momentum_.data() + first, variance_.data() + first, parameters(), gradients, stride, factors};
  for_each_row(device(), rows.count, parameters(), kernel);
}

std::vector<double> LocalAdam::move(const float* from, float* to) {
  const AdamMoveKernel kernel{numbers(), decay(), momentum_.data(), variance_.data(), parameters(), from, to};
  return row_sums(device(), rows(), parameters(), kernel);
}

void LocalAdam::synchronise(device::Buffer<float>&, netmodel::TrafficList& traffic) {
  average(momentum_, traffic);
  average(variance_, traffic);
}

DiLoCo::DiLoCo(const Problem& problem, const OptimizerConfig& config)
    : LocalAdam(problem, config),
      anchor_(problem.shard.device, parameters()),
      outer_momentum_(device::Buffer<float>::zeros(problem.shard.device, parameters())) {}

void DiLoCo::start(const device::Buffer<float>& parameters) {
  for_each_row(device(), 1, anchor_.size(), SpreadKernel{parameters.data(), anchor_.data(), anchor_.size()});
}

void DiLoCo::synchronise(device::Buffer<float>& point, netmodel::TrafficList&) {
  for_each(
      device(), anchor_.size(),
      OuterStepKernel{static_cast<float>(config().local.outer_lr), static_cast<float>(config().local.outer_momentum),
                      point.data(), anchor_.data(), outer_momentum_.data()});
}

}  // namespace onebit::optim
