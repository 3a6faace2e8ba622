#pragma once

#include "compress/channels/channel.hpp"
#include "device/launch/launch.hpp"
#include "optim/optimizer.hpp"

namespace onebit::optim {

struct SgdKernel {
  float lr;
  const float* gradient;
  float* x;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { x[i] -= lr * gradient[i]; }
};

/// Stochastic gradient descent on the dense mean gradient (Robbins and Monro 1951).
class Sgd final : public Optimizer {
 public:
  Sgd(const Problem& problem, Index parameters)
      : device_(problem.shard.device), channel_(problem.shard, parameters), mean_(device_, parameters) {}

  StateView state() const override { return {}; }
  void visit_state(device::StateVisitor&) override {}  // nothing is kept from step to step

 private:
  void do_absorb(Range group, const float* gradients, Index stride) override {
    channel_.absorb(group, gradients, stride);
  }

  StepReport do_finish(device::Buffer<float>& parameters) override {
    StepReport report;
    channel_.exchange(mean_.data(), report.traffic);
    for_each(device_, mean_.size(), SgdKernel{static_cast<float>(lr()), mean_.data(), parameters.data()});
    return report;
  }

  device::Device device_;
  compress::DenseMean channel_;
  device::Buffer<float> mean_;
};

}  // namespace onebit::optim
