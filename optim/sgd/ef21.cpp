#include "optim/sgd/ef21.hpp"

#include "device/launch/launch.hpp"
#include "device/memory/grow.hpp"
#include "optim/sgd/sgd_kernels.hpp"

namespace onebit::optim {
namespace {

/// The decoded results add up to h, and x moves along h. This is heavy-ball momentum with decay 1.
SgdMethod method_of(const OptimizerConfig& config) {
  SgdMethod method{.exchange = config.exchange, .momentum = {.decay = 1}, .clip = config.clip};
  method.exchange.feedback = compress::Feedback::ef;
  require_feedback(config.name, config.exchange);
  return method;
}

}  // namespace

Ef21::Ef21(const Problem& problem, const OptimizerConfig& config, const SgdMethod& method, double eta)
    : CompressedSgd(problem, config, method),
      eta_(eta),
      estimates_(device::Buffer<float>::zeros(device(), own_workers() * parameters())) {}

compress::EncodeInput Ef21::worker_side(Range group, const compress::EncodeInput& gradients) {
  const Index needed = group.count * parameters();
  grow(difference_, device(), needed);
  const double eta = step() == 1 ? 1 : eta_;
  for_each_row(device(), group.count, parameters(),
               DifferenceKernel{static_cast<float>(1 - eta), static_cast<float>(eta), gradients.factors, gradients.rows,
                                gradients.stride, estimates_.data() + own_row(group) * parameters(), difference_.data(),
                                parameters()});
  return plain(difference_.data());
}

std::unique_ptr<Optimizer> make_ef21(const Problem& problem, const OptimizerConfig& config) {
  return std::make_unique<Ef21>(problem, config, method_of(config), 1);
}

std::unique_ptr<Optimizer> make_ef21_sgdm(const Problem& problem, const OptimizerConfig& config) {
  return std::make_unique<Ef21>(problem, config, method_of(config), config.ef21_momentum);
}

}  // namespace onebit::optim
