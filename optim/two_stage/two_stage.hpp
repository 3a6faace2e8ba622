#pragma once

#include <memory>
#include <optional>

#include "optim/adam/adam_core.hpp"
#include "optim/common/clipping.hpp"
#include "optim/common/masked.hpp"
#include "optim/quirks.hpp"
#include "optim/two_stage/shadow_variance.hpp"
#include "optim/two_stage/tensor_freeze.hpp"

namespace onebit::optim {

/// The common part of 1-bit Adam and 1-bit LAMB: a warm-up stage of dense updates until the freeze policy ends it, then
/// a compression stage with a frozen variance, in which every worker adds its own gradient to the shared momentum and
/// sends the sum. Subclasses define the dense update, the exchange of the momenta, and the update after it.
///
/// The optimizer in paper semantics deviates from the papers' text in these points. With bias correction (optional, on
/// by default), the momentum keeps its factor 1/(1-beta1^t) in step t, and the variance stays v_K/(1-beta2^K).
/// Coordinates with v_K = 0 are masked: their momentum stays 0, but their errors still count in the scales. In the
/// compression stage, clipping bounds each worker's gradient by its own norm.
///
/// AdamQuirks and TwoStageQuirks list what deepspeed semantics change.
///
/// Three options are our own extensions and are off by default:
/// - variance_floor: the frozen variance is raised to this floor.
/// - variance_refresh R: every R-th step of the compression stage is dense. The mean gradient of such a step updates
/// momentum and variance, and the floor is applied again; the errors of workers and servers are left unchanged. Such
/// steps report the warm-up phase.
/// - freeze.scope tensor: see TensorFreeze. Only 1-bit Adam has it. In the step after a tensor's freeze, a new exchange
/// is made and adopts the errors of the old one; while it does so, both take up memory.
class TwoStage : public Optimizer {
 public:
  StateView state() const override;
  void visit_state(device::StateVisitor& visitor) override;
  std::string failed_expectation() const override;

 protected:
  TwoStage(const Problem& problem, const OptimizerConfig& config);

  bool compressing() const { return phase_ == Phase::compression; }
  const TwoStageQuirks& quirks() const { return quirks_; }
  /// Whether anything is exchanged.
  bool exchanges() const { return !(quirks_.idle_alone && problem_.shard.workers() == 1); }
  const device::Device& device() const { return problem_.shard.device; }
  const Problem& problem() const { return problem_; }
  const OptimizerConfig& config() const { return config_; }
  AdamCore& core() { return core_; }
  const AdamCore& core() const { return core_; }
  /// Coefficients of the current update, which uses the frozen variance.
  AdamStep frozen_step() const { return core_.numbers(updates_, variance_updates_, lr()); }
  /// Square root of the floor of the corrected variance in each tensor, [tensors]; 0 if there is no floor.
  const device::Buffer<float>& least_roots() const { return least_roots_; }
  /// Number of parameter updates so far, including the current one.
  Index updates() const { return updates_; }
  /// Makes a kernel that writes the momenta of the group's workers, row g at out + g * out_stride.
  LocalMomentaKernel local_momenta(const float* gradients, Index stride, const float* factors, float* out,
                                   Index out_stride) const;
  /// Buffer to which the exchanged momenta are written. While some variances are still updated, this is core().mean(),
  /// because the previous momentum is still needed; afterwards, it is core().momentum().
  device::Buffer<float>& received() { return moves() ? core_.mean() : core_.momentum(); }
  /// Marks [tensors] in device memory: nonzero for tensors whose variance is still updated; null if there are none.
  const std::uint8_t* moving() const { return moves() ? tensors_->moving() : nullptr; }
  /// Marks [tensors] that the exchange keeps dense in addition to the configured ones; empty: none.
  const std::vector<char>& dense_tensors() const { return dense_tensors_; }
  /// Takes the mean of the momenta from the compressed exchange. `result` may be null if the mean stays packed.
  void receive_compressed(float* result, StepReport& report);

  std::unique_ptr<compress::CompressedMean> exchange_;  ///< exchange of the compression stage, if it compresses

 private:
  virtual void dense_update(device::Buffer<float>& x, StepReport& report) = 0;
  /// Allocates what the compression stage needs; start_compression() or a checkpoint fills in the values.
  virtual void make_exchange() = 0;
  virtual void start_compression() {}
  /// Sends a group's momenta. factors: the factor of each worker's gradient.
  virtual void send(Range group, const float* gradients, Index stride, const float* factors) = 0;
  virtual void receive(StepReport& report) = 0;
  virtual void frozen_update(device::Buffer<float>& x, StepReport& report) = 0;
  /// Makes an update of the compression stage with the mean gradient in core().mean() times the clipping factor in
  /// `step`.
  virtual void refreshing_update(const AdamStep& step, device::Buffer<float>& x, StepReport& report) = 0;

  void do_begin() final;
  void do_absorb(Range group, const float* gradients, Index stride) final;
  StepReport do_finish(device::Buffer<float>& parameters) final;
  void finish_warmup(device::Buffer<float>& parameters, StepReport& report);
  void finish_compression(device::Buffer<float>& parameters, StepReport& report);
  void finish_refresh(device::Buffer<float>& parameters, StepReport& report);
  void refuse_what_cannot_be() const;
  void freeze(StepReport& report);
  void freeze_more(StepReport& report);
  bool freeze_now(StepReport& report);
  std::string frozen_text() const;
  void raise_variance(StepReport& report);
  Index raise_variance();
  std::vector<Range> frozen_parts() const;
  void renew_exchange();
  bool moves() const { return tensors_ && tensors_->moves(); }
  bool refreshes() const { return config_.variance_refresh > 0; }
  void begin_compression();

  Problem problem_;
  OptimizerConfig config_;
  const TwoStageQuirks quirks_;
  AdamCore core_;
  LocalClipping clipping_;
  std::optional<TensorFreeze> tensors_;  ///< present if tensors are frozen separately
  std::optional<MaskedCoordinates> masked_;
  std::optional<ShadowVariance> shadow_;
  Phase phase_;
  Index updates_ = 0;
  Index frozen_updates_ = 0;    ///< dense updates before the freeze
  Index variance_updates_ = 0;  ///< number of dense updates of the frozen variance; 0: it is stored without bias
  bool refresh_now_ = false;    ///< whether this step is a dense step of the compression stage
  bool exchanged_now_ = false;  ///< whether the last step went through the exchange
  std::vector<char> dense_tensors_;
  device::Buffer<float> least_roots_;
  device::Seconds encode_seconds_;  ///< time that encoding took in this step
};

}  // namespace onebit::optim
