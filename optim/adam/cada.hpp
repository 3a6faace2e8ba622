#pragma once

#include <deque>

#include "compress/channels/channel.hpp"
#include "optim/common/clipping.hpp"
#include "optim/common/tensor_table.hpp"
#include "optim/optimizer.hpp"

namespace onebit::optim {

/// Throws ConfigError, naming the option, if a hyper-parameter of CADA is out of range.
void check_cada(const CadaConfig& config);

/// CADA (Chen, Guo, Sun and Yin, AISTATS 2021): AMSGrad on the mean of the gradients that the workers uploaded last. A
/// worker uploads if its gradient differs enough from its last upload, by a measure that uses gradients of the same
/// samples at a second point:
///
///   worker w, rule 1:  D = g_w(x) - g_w(snapshot)
///                      uploads if ||D - stored_w||^2 >= threshold / window * (sum of the last `window` squared steps)
///                      then latest_w = g_w(x), stored_w = D
///   worker w, rule 2:  uploads if ||g_w(x) - g_w(point_w)||^2 >= the same bound,
///                      or if its last upload was max_delay steps ago
///                      then latest_w = g_w(x), point_w = x
///   server:            g = clip(mean of latest_w), by its global norm
///                      h = beta1 h + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,  vhat = max(vhat, v)
///                      x -= lr (h / (sqrt(vhat) + eps) + weight_decay x)
///
/// In the first step, all workers upload. Under rule 1, all workers also upload every `max_delay` steps, when the
/// snapshot becomes x and stored_w becomes 0. These steps need no second gradient. The step h / (sqrt(vhat) + eps) is
/// taken from the authors' code and has no bias correction.
///
/// Traffic: what a worker sends, averaged over the workers. Up: an all-to-all (reduce-scatter) of the worker's vector,
/// with bytes and messages multiplied by the share of workers that upload. Down: an all-gather of the sums.
class Cada final : public Optimizer {
 public:
  enum class Rule { snapshot, stale };

  Cada(const Problem& problem, const OptimizerConfig& config, Rule rule);

  StateView state() const override { return {.momentum = &momentum_, .variance = &variance_}; }
  void visit_state(device::StateVisitor& visitor) override;
  bool wants_extra_gradients() const override { return true; }
  Point extra_point() const override;
  void absorb_extra(Range group, const float* gradients, Index stride) override;

 private:
  void do_begin() override;
  void do_absorb(Range group, const float* gradients, Index stride) override;
  StepReport do_finish(device::Buffer<float>& parameters) override;

  bool everybody_uploads() const;
  double least_innovation() const;
  std::vector<std::uint8_t> decide(Range group, const float* gradients, Index stride);
  void keep_points(const device::Buffer<float>& x);
  double update(device::Buffer<float>& x);
  netmodel::TrafficList traffic(double share) const;

  const device::Device& device() const { return shard_.device; }
  Index parameters() const { return mean_.size(); }
  /// Offset of a group's rows in the buffers that hold a row for each worker of this device.
  Index before(Range group) const { return (group.first - shard_.own().first) * parameters(); }

  device::Shard shard_;
  OptimizerConfig config_;
  Rule rule_;
  TensorTable tensors_;
  compress::DenseMean channel_;
  MeanClipping clipping_;
  device::Buffer<float> mean_, momentum_, variance_, largest_;  ///< [parameters]
  device::Buffer<float> latest_;                                ///< last uploads, [workers of this device][parameters]
  device::Buffer<float> stored_;  ///< rule 1: differences at the last uploads, shaped like latest_
  device::Buffer<float> points_;  ///< rule 1: the snapshot; rule 2: x at the last uploads, shaped like latest_
  device::Buffer<float> extra_;   ///< gradients at the extra point, [group][parameters]
  Index extra_rows_ = 0;          ///< number of rows of the next group
  device::Buffer<std::uint8_t> group_uploads_;
  std::vector<std::uint8_t> uploads_;  ///< whether each absorbed worker of this device uploads
  std::vector<Index> last_upload_;     ///< step of the last upload, [workers of this device]
  std::deque<double> moves_;           ///< squared lengths of the last steps, at most `window` of them
  device::Seconds absorb_seconds_;     ///< time that absorbing took in this step
};

std::unique_ptr<Optimizer> make_cada1(const Problem& problem, const OptimizerConfig& config);
std::unique_ptr<Optimizer> make_cada2(const Problem& problem, const OptimizerConfig& config);

}  // namespace onebit::optim
