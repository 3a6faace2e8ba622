#include "optim/sgd/sgd.hpp"

#include <cmath>
#include <utility>

#include "device/launch/stopwatch.hpp"
#include "optim/adam/adam_core.hpp"
#include "optim/sgd/sgd_kernels.hpp"

namespace onebit::optim {

void check_sgd(const OptimizerConfig& config) {
  check_option(config.momentum >= 0 && config.momentum < 1, "momentum", config.momentum, "in [0, 1)");
  check_option(config.ef21_momentum > 0 && config.ef21_momentum <= 1, "ef21-momentum", config.ef21_momentum,
               "in (0, 1]");
  check_option(config.ramp >= 0, "ramp", static_cast<double>(config.ramp), "steps, at least 0");
}

Momentum momentum_of(const OptimizerConfig& config) {
  return {.decay = config.momentum, .nesterov = config.nesterov};
}

SgdUpdate::SgdUpdate(const Problem& problem, const OptimizerConfig& config, const Momentum& momentum)
    : device_(problem.shard.device),
      config_(momentum),
      tensors_(problem, config),
      momentum_(device::Buffer<float>::zeros(device_, momentum.decay > 0 ? problem.parameters() : 0)) {}

device::Number SgdUpdate::apply(double lr, const float* factor, const device::Buffer<float>& gradient,
                                device::Buffer<float>& x) {
  const DescentStep step{.lr = static_cast<float>(lr),
                         .momentum = static_cast<float>(config_.decay),
                         .nesterov = config_.nesterov,
                         .gradient_factor = factor};
  const DescentKernel kernel{step, tensors_.rules(), x.data(), config_.decay > 0 ? momentum_.data() : nullptr,
                             gradient.data()};
  return norm_of(sums(device_, 1, tensors_.chunks(), kernel));
}

MomentumSgd::MomentumSgd(const Problem& problem, const OptimizerConfig& config, const Momentum& momentum)
    : device_(problem.shard.device),
      clipping_(problem, config.clip),
      channel_(problem.shard, problem.parameters()),
      update_(problem, config, momentum),
      mean_(device_, problem.parameters()) {}

void MomentumSgd::do_absorb(Range group, const float* gradients, Index stride) {
  device::Stopwatch watch(device_);
  channel_.absorb(group, gradients, stride);
  absorb_seconds_ += watch.lap();
}

StepReport MomentumSgd::do_finish(device::Buffer<float>& parameters) {
  StepReport report;
  report.seconds.encode = std::exchange(absorb_seconds_, 0);
  device::Stopwatch watch(device_);
  channel_.exchange(mean_.data(), report.traffic);
  report.seconds.exchange = watch.lap();
  report.update_norm = update_.apply(lr(), clipping_.factor(mean_), mean_, parameters);
  clipping_.report(report);
  report.seconds.update = watch.lap();
  return report;
}

std::unique_ptr<Optimizer> make_sgd(const Problem& problem, const OptimizerConfig& config) {
  return std::make_unique<MomentumSgd>(problem, config, Momentum{});
}

std::unique_ptr<Optimizer> make_momentum_sgd(const Problem& problem, const OptimizerConfig& config) {
  return std::make_unique<MomentumSgd>(problem, config, momentum_of(config));
}

}  // namespace onebit::optim
