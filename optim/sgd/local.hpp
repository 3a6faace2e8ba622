#pragma once
// Workers that make local steps and synchronise every `local.period` steps and at the last step of the run, so that the
// run ends with one model. Every worker clips its gradient by its own norm.

#include "compress/channels/channel.hpp"
#include "optim/adam/adam_core.hpp"
#include "optim/common/clipping.hpp"

namespace onebit::optim {

/// Throws ConfigError, naming the option, if a hyper-parameter of local steps is out of range.
void check_local(const LocalConfig& config);

/// Alternates local steps and synchronisations:
///
///   worker w:               updates its moments with its clipped gradient, then moves x_w
///   every `period` steps:   point = mean of x_w; synchronise() may move it and average other rows; x_w = point
///
/// A step that synchronises is carried out on a copy of the parameters, so that the length of the whole move is known.
class LocalOptimizer : public Optimizer {
 public:
  bool local_weights() const final { return true; }

  static const StepSchedule kSchedule;

 protected:
  LocalOptimizer(const Problem& problem, const OptimizerConfig& config);

  /// Updates the moments of the given rows of this device with the gradients of these rows.
  virtual void take(Range rows, const float* gradients, Index stride, const float* factors) = 0;
  /// Moves the weights in rows `from` by one step and writes them to rows `to`, which may be the same rows. Returns the
  /// squared length of each row's step.
  virtual std::vector<double> move(const float* from, float* to) = 0;
  /// Runs at a synchronisation. `point` [parameters] is the mean of the weights; implementations may move it and
  /// average other rows.
  virtual void synchronise(device::Buffer<float>& point, netmodel::TrafficList& traffic) = 0;
  /// Receives the parameters before the first step.
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
  std::vector<double> move_and_synchronise(device::Buffer<float>& x, StepReport& report);

  Problem problem_;
  OptimizerConfig config_;
  Index parameters_;
  LocalClipping clipping_;
  compress::DenseMean channel_;
  device::Buffer<float> decay_;  ///< [parameters]
  device::Buffer<float> moved_;  ///< the weights that are averaged, [workers of this device][parameters]
  device::Buffer<float> point_;  ///< [parameters]
};

/// Local SGD (Stich 2019) with heavy-ball momentum:
///
///   worker w:              m_w = momentum m_w + g_w,  x_w -= lr (m_w + weight_decay x_w)
///   every `period` steps:  x_w = mean of x_w;  each worker keeps its m_w
class LocalSgd final : public LocalOptimizer {
 public:
  LocalSgd(const Problem& problem, const OptimizerConfig& config);
  StateView state() const override { return {.momentum = &momentum_}; }
  void visit_state(device::StateVisitor& visitor) override { visitor.rows("momentum", momentum_, parameters()); }

 private:
  void take(Range rows, const float* gradients, Index stride, const float* factors) override;
  std::vector<double> move(const float* from, float* to) override;
  void synchronise(device::Buffer<float>&, netmodel::TrafficList&) override {}

  device::Buffer<float> momentum_;  ///< [workers of this device][parameters]
};

/// Local Adam: every worker runs AdamW on its own gradients, with its own moments.
///
///   worker w:              m_w = beta1 m_w + (1 - beta1) g_w,  v_w = beta2 v_w + (1 - beta2) g_w^2
///                          x_w -= lr (m_w c1 / (sqrt(v_w) c2 + eps) + weight_decay x_w)   c1, c2: bias corrections
///   every `period` steps:  x_w, m_w, v_w = their means: three dense vectors are exchanged
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
  void synchronise(device::Buffer<float>& point, netmodel::TrafficList& traffic) override;
  AdamStep numbers() const;

  const VarianceBias bias_;
  device::Buffer<float> momentum_, variance_;  ///< [workers of this device][parameters]
};

/// DiLoCo (Douillard et al. 2023, Algorithm 1): AdamW on every worker, as in LocalAdam, between synchronisations. A
/// synchronisation uses the mean displacement since the last one as the gradient of SGD with Nesterov momentum. The
/// workers keep their own moments, which are not sent.
///
///   every `period` steps:  d = anchor - mean of x_w,  M = outer_momentum M + d
///                          anchor -= outer_lr (d + outer_momentum M),  x_w = anchor
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
  void synchronise(device::Buffer<float>& point, netmodel::TrafficList& traffic) override;

  device::Buffer<float> anchor_;          ///< the point of the last synchronisation, [parameters]
  device::Buffer<float> outer_momentum_;  ///< [parameters]
};

}  // namespace onebit::optim
