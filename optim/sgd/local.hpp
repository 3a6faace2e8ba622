#pragma once
// Workers that step on their own and meet every `local.period` steps, and at the last step of the run so that it ends
// with one model. Every worker clips its gradient by its own norm.

#include "compress/channels/channel.hpp"
#include "optim/adam/adam_core.hpp"
#include "optim/common/clipping.hpp"

namespace onebit::optim {

/// Throws ConfigError naming the hyper-parameter that is out of range.
void check_local(const LocalConfig& config);

/// The rhythm of local steps and meetings. A step that meets is not taken in the parameters but in a copy, so that
/// the length of the whole move is known.
class LocalOptimizer : public Optimizer {
 public:
  bool local_weights() const final { return true; }

 protected:
  LocalOptimizer(const Problem& problem, const OptimizerConfig& config);

  /// Takes gradients into the moments of rows [first, ...) of this device.
  virtual void take(Range rows, const float* gradients, Index stride, const float* factors) = 0;
  /// Steps from rows to rows (the same ones or others); squared length of each.
  virtual std::vector<double> move(const float* from, float* to) = 0;
  /// At a meeting: `point` [parameters] is the mean of the weights; it may be moved, and more be averaged.
  virtual void meet(device::Buffer<float>& point, netmodel::TrafficList& traffic) = 0;
  /// The parameters before the first step.
  virtual void start(const device::Buffer<float>&) {}

  /// Replaces rows by their mean over all workers.
  void average(device::Buffer<float>& rows, netmodel::TrafficList& traffic);
  device::Buffer<float> zero_rows() const { return device::Buffer<float>::zeros(device(), rows() * parameters_); }
  const device::Device& device() const { return problem_.shard.device; }
  Index rows() const { return problem_.shard.own().count; }
  Index parameters() const { return parameters_; }
  const float* decay() const { return decay_.data(); }
  const OptimizerConfig& config() const { return config_; }

 private:
  void do_begin() override { clipping_.begin(); }
  void do_absorb(Range group, const float* gradients, Index stride) override;
  StepReport do_finish(device::Buffer<float>& parameters) override;
  std::vector<double> move_and_meet(device::Buffer<float>& x, StepReport& report);

  Problem problem_;
  OptimizerConfig config_;
  Index parameters_;
  LocalClipping clipping_;
  compress::DenseMean channel_;
  device::Buffer<float> decay_;  ///< [parameters]
  device::Buffer<float> moved_;  ///< [workers of this device][parameters]: the weights that are averaged
  device::Buffer<float> point_;  ///< [parameters]
};

/// Local SGD (Stich 2019) with heavy-ball momentum: m = momentum m + g, x -= lr (m + weight_decay x) on every worker.
/// At a meeting the weights are averaged; each worker keeps its momentum.
class LocalSgd final : public LocalOptimizer {
 public:
  LocalSgd(const Problem& problem, const OptimizerConfig& config);
  StateView state() const override { return {.momentum = &momentum_}; }
  void visit_state(device::StateVisitor& visitor) override { visitor.rows("momentum", momentum_, parameters()); }

 private:
  void take(Range rows, const float* gradients, Index stride, const float* factors) override;
  std::vector<double> move(const float* from, float* to) override;
  void meet(device::Buffer<float>&, netmodel::TrafficList&) override {}

  device::Buffer<float> momentum_;  ///< [workers of this device][parameters]
};

/// Local Adam: every worker runs AdamW on its own gradients, with moments of its own. At a meeting weights, momentum
/// and variance are averaged: three dense vectors cross the wire.
class LocalAdam : public LocalOptimizer {
 public:
  LocalAdam(const Problem& problem, const OptimizerConfig& config);
  StateView state() const override { return {.momentum = &momentum_, .variance = &variance_}; }
  void visit_state(device::StateVisitor& visitor) override {
    visitor.rows("momentum", momentum_, parameters());
    visitor.rows("variance", variance_, parameters());
  }

 private:
  void take(Range rows, const float* gradients, Index stride, const float* factors) override;
  std::vector<double> move(const float* from, float* to) override;
  void meet(device::Buffer<float>& point, netmodel::TrafficList& traffic) override;
  AdamStep numbers() const;

  device::Buffer<float> momentum_, variance_;  ///< [workers of this device][parameters]
};

/// DiLoCo (Douillard et al. 2023, Algorithm 1): AdamW on every worker between meetings; a meeting takes the mean
/// displacement from the last one as a gradient for SGD with Nesterov momentum (outer_lr, outer_momentum), and all
/// workers go on from there. Their moments stay their own and are not sent.
class DiLoCo final : public LocalAdam {
 public:
  DiLoCo(const Problem& problem, const OptimizerConfig& config);
  void visit_state(device::StateVisitor& visitor) override {
    LocalAdam::visit_state(visitor);
    visitor.shared("anchor", anchor_);
    visitor.shared("outer_momentum", outer_momentum_);
  }

 private:
  void start(const device::Buffer<float>& parameters) override;
  void meet(device::Buffer<float>& point, netmodel::TrafficList& traffic) override;

  device::Buffer<float> anchor_;          ///< [parameters]: where the workers met last
  device::Buffer<float> outer_momentum_;  ///< [parameters]
};

}  // namespace onebit::optim
