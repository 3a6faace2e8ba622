#pragma once

#include <deque>

#include "compress/channels/channel.hpp"
#include "optim/common/clipping.hpp"
#include "optim/optimizer.hpp"
#include "optim/common/tensor_table.hpp"

namespace onebit::optim {

/// Throws ConfigError naming the option of CADA that is out of range.
void check_cada(const CadaConfig& config);

/// CADA (Chen, Guo, Sun and Yin, AISTATS 2021): AMSGrad on the mean of the gradients that the workers uploaded last. A
/// worker uploads where its gradient says something new, measured on the same samples at a second point:
///
/// rule 1: ||(g(x) - g(snapshot)) - (the same difference at its last upload)||^2,
/// rule 2: ||g(x) - g(x at its last upload)||^2,
///
/// at least threshold / window * (sum of the last `window` squared steps). Rule 1 renews the snapshot every `max_delay`
/// steps, and then, as at the first step, everybody uploads and no second gradient is needed; under rule 2 a worker
/// that was silent for max_delay steps uploads. The server's step is h / (sqrt(vhat) + eps) as in the authors' code,
/// without bias correction; the mean gradient is clipped by its global norm.
///
/// Traffic: what one worker sends on average over the workers. Up: an all-to-all (reduce-scatter) of its vector times
/// the share of uploading workers; down: an all-gather of the sums.
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
  /// Elements before a group's rows in what this device holds for its workers.
  Index before(Range group) const { return (group.first - shard_.own().first) * parameters(); }

  device::Shard shard_;
  OptimizerConfig config_;
  Rule rule_;
  TensorTable tensors_;
  compress::DenseMean channel_;
  MeanClipping clipping_;
  device::Buffer<float> mean_, momentum_, variance_, largest_;  ///< [parameters]
  device::Buffer<float> latest_;                                ///< last uploads, [workers of this device][parameters]
  device::Buffer<float> stored_;  ///< rule 1: differences at the last uploads, like latest_
  device::Buffer<float> points_;  ///< rule 1: the snapshot; rule 2: x at the last uploads, like latest_
  device::Buffer<float> extra_;   ///< gradients at the extra point, [group][parameters]
  Index extra_rows_ = 0;          ///< of the group that comes next
  device::Buffer<std::uint8_t> group_uploads_;
  std::vector<std::uint8_t> uploads_;  ///< of this device's workers in this step so far
  std::vector<Index> last_upload_;     ///< steps, of this device's workers
  std::deque<double> moves_;           ///< the last squared steps, at most `window`
  device::Seconds absorb_seconds_;     ///< of the running step
};

std::unique_ptr<Optimizer> make_cada1(const Problem& problem, const OptimizerConfig& config);
std::unique_ptr<Optimizer> make_cada2(const Problem& problem, const OptimizerConfig& config);

}  // namespace onebit::optim
