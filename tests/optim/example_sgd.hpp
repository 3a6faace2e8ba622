#pragma once

#include "compress/channels/channel.hpp"
#include "optim/common/sums.hpp"
#include "optim/optimizer.hpp"

namespace onebit::optim {

/// x -= lr (g + weight_decay x). Yields the squared step.
struct SgdKernel {
  float lr, weight_decay;
  const float* gradient;
  float* x;
  ONEBIT_HOST_DEVICE double operator()(Index, Index, Index i) const {
    const float move = lr * (gradient[i] + weight_decay * x[i]);
    x[i] = x[i] - move;
    return static_cast<double>(move) * static_cast<double>(move);
  }
};

/// Stochastic gradient descent on the dense mean gradient (Robbins and Monro 1951), with decoupled weight decay.
class Sgd final : public Optimizer {
 public:
  Sgd(const Problem& problem, const OptimizerConfig& config)
      : device_(problem.shard.device),
        weight_decay_(static_cast<float>(config.weight_decay)),
        channel_(problem.shard, problem.parameters()),
        mean_(device_, problem.parameters()),
        whole_(problem.parameters()) {}

  StateView state() const override { return {}; }
  void visit_state(device::StateVisitor&) override {}  // nothing is kept from step to step

 private:
  void do_absorb(Range group, const float* gradients, Index stride) override {
    channel_.absorb(group, gradients, stride);
  }

  StepReport do_finish(device::Buffer<float>& parameters) override {
    StepReport report;
    channel_.exchange(mean_.data(), report.traffic);
    const SgdKernel kernel{static_cast<float>(lr()), weight_decay_, mean_.data(), parameters.data()};
    report.update_norm = norm_of(sums(device_, 1, whole_, kernel));
    return report;
  }

  device::Device device_;
  float weight_decay_;
  compress::DenseMean channel_;
  device::Buffer<float> mean_;
  device::Chunks whole_;  ///< all parameters as one segment
};

}  // namespace onebit::optim
