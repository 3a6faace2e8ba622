#include "optim/sgd/worker_momentum.hpp"

#include "device/launch/launch.hpp"
#include "device/memory/grow.hpp"
#include "optim/sgd/sgd_kernels.hpp"

namespace onebit::optim {

WorkerMomentumSgd::WorkerMomentumSgd(const Problem& problem, const OptimizerConfig& config, const SgdMethod& method,
                                     const WorkerMomentum& momentum)
    : CompressedSgd(problem, config, method),
      config_(momentum),
      momentum_(device::Buffer<float>::zeros(device(), own_workers() * parameters())) {}

compress::EncodeInput WorkerMomentumSgd::worker_side(Range group, const compress::EncodeInput& gradients) {
  const Index needed = group.count * parameters();
  if (config_.nesterov) grow(sent_, device(), needed);
  float* momentum = momentum_.data() + own_row(group) * parameters();
  float* sent = config_.nesterov ? sent_.data() : nullptr;
  for_each_row(device(), group.count, parameters(),
               WorkerMomentumKernel{static_cast<float>(config_.decay), static_cast<float>(config_.share),
                                    gradients.factors, gradients.rows, gradients.stride, momentum, sent, parameters()});
  return plain(config_.nesterov ? sent : momentum);
}

std::unique_ptr<Optimizer> make_ef_sgdm(const Problem& problem, const OptimizerConfig& config) {
  return std::make_unique<WorkerMomentumSgd>(
      problem, config, SgdMethod{.exchange = config.exchange, .clip = config.clip, .rescale_errors = true},
      WorkerMomentum{.decay = config.momentum, .nesterov = config.nesterov});
}

std::unique_ptr<Optimizer> make_dist_ef_sgdm(const Problem& problem, const OptimizerConfig& config) {
  OptimizerConfig always = config;
  always.nesterov = true;
  return make_ef_sgdm(problem, always);
}

std::unique_ptr<Optimizer> make_signum(const Problem& problem, const OptimizerConfig& config) {
  return std::make_unique<WorkerMomentumSgd>(problem, config,
                                             SgdMethod{.exchange = majority_vote(config), .clip = config.clip},
                                             WorkerMomentum{.decay = config.beta1, .share = 1 - config.beta1});
}

}  // namespace onebit::optim
