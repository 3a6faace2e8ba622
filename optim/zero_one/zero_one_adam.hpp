#pragma once

#include <optional>

#include "compress/channels/compressed_mean.hpp"
#include "optim/adam/adam_core.hpp"
#include "optim/common/clipping.hpp"
#include "optim/common/masked.hpp"
#include "optim/zero_one/zero_one_local.hpp"
#include "optim/zero_one/zero_one_schedule.hpp"

namespace onebit::optim {

/// 0/1 Adam (Lu et al., ICLR 2023). Until the variance is frozen the workers share weights and momentum: in full rounds
/// the mean gradient updates momentum and variance, in 1-bit rounds the error-compensated gradient updates the momentum
/// alone. Then every worker steps on its own; in sync rounds the drifts since the last one go through the 1-bit
/// exchange, and the workers go on from where it leads. The errors are forgotten once, at the freeze: what they belong
/// to is another quantity from there on. The log's phases are warm-up (full rounds), compression (1-bit rounds) and
/// local steps.
///
/// paper semantics, where they differ from the paper's Algorithm 1: before the freeze 1-bit rounds carry gradients, as
/// in the released code, not momenta; a full round carries nothing else. Bias correction (optional, on): the momentum
/// keeps 1/(1-beta1^t) over all steps t, the variance 1/(1-beta2^k) with k updates so far. Coordinates with v = 0 are
/// masked: their momentum stays 0. Weight decay is not part of the drift: the point of the last meeting, which is kept,
/// decays as the weights do, so the decay rate is lr weight_decay in every phase, and all workers have the same bits
/// after a meeting. The last step of the run is a sync round. Clipping bounds the mean gradient in full rounds, each
/// worker's own elsewhere.
///
/// deepspeed semantics (DeepSpeed 0.19.6, fp32 path): the first step is a dry run; no bias correction, no mask; padding
/// takes part in scales and errors; weight decay leaks into the momentum through the drift; workers go back to the last
/// meeting by subtracting their drift, so that rounding keeps them apart; one worker exchanges nothing, and 1-bit
/// rounds then leave its momentum as it is.
class ZeroOneAdam final : public Optimizer {
 public:
  ZeroOneAdam(const Problem& problem, const OptimizerConfig& config);

  bool local_weights() const override { return true; }
  StateView state() const override;
  void visit_state(device::StateVisitor& visitor) override;

 private:
  void do_begin() override;
  void do_absorb(Range group, const float* gradients, Index stride) override;
  StepReport do_finish(device::Buffer<float>& parameters) override;

  void finish_full(device::Buffer<float>& x, StepReport& report);
  void finish_one_bit(device::Buffer<float>& x, StepReport& report);
  void finish_local(device::Buffer<float>& x, StepReport& report);
  void start_local();
  void freeze(const device::Buffer<float>& x);
  void spread(device::Buffer<float>& x) const;
  void report_freeze(StepReport& report);
  AdamStep numbers() const { return core_.numbers(updates_, variance_updates_, lr()); }

  bool deepspeed() const { return config_.semantics == Semantics::deepspeed; }
  bool dry_run() const { return deepspeed() && step() == 1; }
  /// The released code leaves the exchange out when there is nobody to exchange with.
  bool exchanges() const { return !(deepspeed() && problem_.shard.workers() == 1); }
  const device::Device& device() const { return problem_.shard.device; }

  Problem problem_;
  OptimizerConfig config_;
  ZeroOneSchedule schedule_;
  AdamCore core_;
  compress::CompressedMean exchange_;
  LocalClipping clipping_;
  std::optional<MaskedCoordinates> masked_;  ///< once the variance is frozen
  device::Buffer<float> share_;              ///< 1 - beta1
  device::Buffer<float> gradient_;           ///< [parameters]: what a 1-bit round brought
  std::optional<ZeroOneLocal> local_;        ///< once the variance is frozen
  Round round_ = Round::full;                ///< of this step
  Index updates_ = 0;                        ///< parameter updates so far
  Index variance_updates_ = 0;
  device::Seconds encode_seconds_;
};

}  // namespace onebit::optim
