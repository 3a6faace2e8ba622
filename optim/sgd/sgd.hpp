#pragma once

#include "compress/channels/channel.hpp"
#include "optim/common/clipping.hpp"
#include "optim/common/tensor_table.hpp"
#include "optim/optimizer.hpp"

namespace onebit::optim {

/// Throws ConfigError, naming the option, if a hyper-parameter of the SGD family is out of range.
void check_sgd(const OptimizerConfig& config);

/// Momentum of an update; decay 0: no momentum.
struct Momentum {
  double decay = 0;
  bool nesterov = false;
};

/// Returns the momentum of a configuration.
Momentum momentum_of(const OptimizerConfig& config);

/// The update of the SGD family from a mean gradient g: momentum as in torch.optim.SGD (Polyak's heavy ball or
/// Nesterov's, dampening 0, starting at zero), decoupled weight decay per tensor.
///
///   m  = momentum m + g                               without momentum: m = g
///   x -= lr (m + weight_decay x)                      Nesterov: x -= lr (g + momentum m + weight_decay x)
class SgdUpdate {
 public:
  SgdUpdate(const Problem& problem, const OptimizerConfig& config, const Momentum& momentum);

  /// Makes an update with g = factor * gradient. The factor is in device memory; null: 1. Returns ||x_t - x_{t-1}||_2.
  device::Number apply(double lr, const float* factor, const device::Buffer<float>& gradient, device::Buffer<float>& x);

  void visit_state(device::StateVisitor& visitor) {
    if (config_.decay > 0) visitor.shared("momentum", momentum_);
  }

  /// Momentum [parameters]; null if there is none.
  const device::Buffer<float>* momentum() const { return config_.decay > 0 ? &momentum_ : nullptr; }

 private:
  device::Device device_;
  Momentum config_;
  TensorTable tensors_;
  device::Buffer<float> momentum_;
};

/// Stochastic gradient descent on the dense mean gradient, plain (Robbins and Monro 1951) or with momentum (Polyak
/// 1964; Sutskever et al. 2013 for Nesterov's). Weight decay is decoupled (SGDW, Loshchilov and Hutter 2019, with the
/// decay multiplied by the learning rate), not the L2 term that torch.optim.SGD adds to the gradient.
///
///   g  = clip(mean of the workers' gradients), by its global norm
///   x  : SgdUpdate with g
class MomentumSgd final : public Optimizer {
 public:
  MomentumSgd(const Problem& problem, const OptimizerConfig& config, const Momentum& momentum);

  StateView state() const override { return {.momentum = update_.momentum()}; }
  void visit_state(device::StateVisitor& visitor) override { update_.visit_state(visitor); }

 private:
  void do_absorb(Range group, const float* gradients, Index stride) override;
  StepReport do_finish(device::Buffer<float>& parameters) override;

  device::Device device_;
  MeanClipping clipping_;
  compress::DenseMean channel_;
  SgdUpdate update_;
  device::Buffer<float> mean_;
  device::Seconds absorb_seconds_;  ///< time that absorbing took in this step
};

std::unique_ptr<Optimizer> make_sgd(const Problem& problem, const OptimizerConfig& config);
std::unique_ptr<Optimizer> make_momentum_sgd(const Problem& problem, const OptimizerConfig& config);

}  // namespace onebit::optim
