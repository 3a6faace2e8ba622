#pragma once

#include <memory>
#include <optional>

#include "optim/adam/adam_core.hpp"
#include "optim/common/clipping.hpp"
#include "optim/common/masked.hpp"
#include "optim/two_stage/shadow_variance.hpp"
#include "optim/two_stage/tensor_freeze.hpp"

namespace onebit::optim {

/// What 1-bit Adam and 1-bit LAMB share: a warm-up stage of dense updates until the freeze policy ends it, then a
/// compression stage with a frozen variance, in which every worker adds its own gradient to the shared momentum and
/// sends that. Each algorithm says what a dense update is, how the momenta meet, and what follows.
///
/// paper semantics, where they differ from the papers' text: bias correction (optional, on): 1/(1-beta1^t) goes on, the
/// variance keeps v_K/(1-beta2^K); coordinates with v_K = 0 are masked (their momentum stays 0; their errors still
/// count in the scales); clipping in the compression stage bounds each worker's gradient by its own norm.
///
/// deepspeed semantics (DeepSpeed 0.19.6, fp32 path): the first step is a dry run whose gradient is averaged and thrown
/// away; no bias correction; `fixed:K` is freeze_step, so K-1 dense updates (at least 1) come before compression;
/// padding takes part in scales and errors; nothing is masked; one worker exchanges nothing and compresses nothing.
///
/// Ours, both off by default. variance_floor: the frozen variance is raised to it. variance_refresh R: every R-th step
/// of the compression stage is a dense one; its mean gradient goes into momentum and variance (and the floor is applied
/// anew), the errors of workers and servers wait. Such steps are of the warm-up phase. Not in deepspeed semantics.
/// freeze.scope tensor: TensorFreeze says what it is; 1-bit Adam alone has it, in paper semantics. The exchange is made
/// anew before the step after a tensor's freeze, and takes over the errors of the last one: for a moment there are
/// both.
class TwoStage : public Optimizer {
 public:
  StateView state() const override;
  void visit_state(device::StateVisitor& visitor) override;
  std::string failed_expectation() const override;

 protected:
  TwoStage(const Problem& problem, const OptimizerConfig& config);

  bool compressing() const { return phase_ == Phase::compression; }
  bool deepspeed() const { return config_.semantics == Semantics::deepspeed; }
  /// The released code leaves the exchange out when there is nobody to exchange with.
  bool exchanges() const { return !(deepspeed() && problem_.shard.workers() == 1); }
  const device::Device& device() const { return problem_.shard.device; }
  const Problem& problem() const { return problem_; }
  const OptimizerConfig& config() const { return config_; }
  AdamCore& core() { return core_; }
  const AdamCore& core() const { return core_; }
  /// The numbers of the running update in the frozen variance.
  AdamStep frozen_step() const { return core_.numbers(updates_, variance_updates_, lr()); }
  /// [tensors]: root of the floor of the variance that preconditions; 0 where there is none.
  const device::Buffer<float>& least_roots() const { return least_roots_; }
  /// Updates of the parameters so far, with the running one.
  Index updates() const { return updates_; }
  /// Own momenta of the group's workers; row g at out + g * stride.
  LocalMomentaKernel local_momenta(const float* gradients, Index stride, const float* factors, float* out,
                                   Index out_stride) const;
  /// Where the exchanged momenta go: while variances move, to the room for averages, for the last momentum is needed
  /// yet.
  device::Buffer<float>& received() { return moves() ? core_.mean() : core_.momentum(); }
  /// [tensors] on the device: whose variance moves; null: none.
  const std::uint8_t* moving() const { return moves() ? tensors_->moving() : nullptr; }
  /// [tensors]: those that the exchange is to keep dense besides what the configuration says; empty: none.
  const std::vector<char>& dense_tensors() const { return dense_tensors_; }
  /// Takes the mean of the momenta from the compressed exchange; result may be null where it stays packed.
  void receive_compressed(float* result, StepReport& report);

  std::unique_ptr<compress::CompressedMean> exchange_;  ///< of the compression stage, where it compresses

 private:
  virtual void dense_update(device::Buffer<float>& x, StepReport& report) = 0;
  /// Makes what the compression stage needs; its values come with start_compression or from a checkpoint.
  virtual void make_exchange() = 0;
  virtual void start_compression() {}
  /// Sends a group's momenta; factors: what each gradient is multiplied with.
  virtual void send(Range group, const float* gradients, Index stride, const float* factors) = 0;
  virtual void receive(StepReport& report) = 0;
  virtual void frozen_update(device::Buffer<float>& x, StepReport& report) = 0;
  /// An update of the compression stage with the mean gradient, which is there and clipped by `step`.
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
  AdamCore core_;
  LocalClipping clipping_;
  std::optional<TensorFreeze> tensors_;  ///< where each is frozen by itself
  std::optional<MaskedCoordinates> masked_;
  std::optional<ShadowVariance> shadow_;
  Phase phase_;
  Index updates_ = 0;
  Index frozen_updates_ = 0;    ///< dense updates before the freeze
  Index variance_updates_ = 0;  ///< dense updates in the frozen variance; 0: it is stored without bias
  bool refresh_now_ = false;    ///< the running step is a dense one of the compression stage
  bool exchanged_now_ = false;  ///< the last step went through the exchange
  std::vector<char> dense_tensors_;
  device::Buffer<float> least_roots_;
  device::Seconds encode_seconds_;  ///< of the running step
};

/// What is exchanged; the released code treats padding as data.
compress::ExchangeConfig exchange_of(const OptimizerConfig& config);

}  // namespace onebit::optim
