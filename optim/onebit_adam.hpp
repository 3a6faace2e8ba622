#pragma once

#include <optional>

#include "optim/adam_core.hpp"

namespace onebit::optim {

/// 1-bit Adam (Tang et al., ICML 2021, Algorithm 1): Adam until the variance is frozen (warm-up stage), then every
/// worker adds its own gradient to the shared momentum and the momentum goes through the error-compensated 1-bit
/// exchange (compression stage); the frozen variance preconditions the update.
///
/// paper semantics, where they differ from the paper's text: bias correction (optional, on): 1/(1-beta1^t) goes on, the
/// variance keeps v_K/(1-beta2^K); coordinates with v_K = 0 are masked
/// (their momentum stays 0; their errors still count in the scales); clipping in the compression stage bounds each
/// worker's gradient by its own norm (no other norm is known before the exchange).
///
/// deepspeed semantics (DeepSpeed 0.19.6, fp32 path): the first step is a dry run whose gradient is averaged and thrown
/// away; no bias correction; `fixed:K` is freeze_step, so K-1 dense updates (at least 1) come before compression;
/// padding takes part in scales and errors; nothing is masked; one worker exchanges nothing and compresses nothing.
class OnebitAdam final : public Optimizer {
 public:
  OnebitAdam(const Problem& problem, const OptimizerConfig& config);

  StateView state() const override;
  std::string unfulfilled() const override;

 private:
  /// What exists in the compression stage only.
  struct Compression {
    Compression(const Problem& problem, const OptimizerConfig& config);
    compress::CompressedMean exchange;
    device::Buffer<float> factors;  ///< of the group: clipping times (1 - beta1)
    device::Buffer<Index> masked;   ///< coordinates with v = 0 at the freeze
    bool masked_gradient_seen = false;
  };

  void do_begin() override;
  void do_absorb(Range group, const float* gradients, Index stride) override;
  StepReport do_finish(device::Buffer<float>& parameters) override;

  void absorb_compressed(Range group, const float* gradients, Index stride);
  void clip_group(Range group, const float* gradients, Index stride);
  void watch_masked(Range group, const float* gradients, Index stride);
  void report_clipping(StepReport& report) const;
  void report_masked(StepReport& report);
  void finish_warmup(device::Buffer<float>& parameters, StepReport& report);
  void finish_compression(device::Buffer<float>& parameters, StepReport& report);
  void freeze(StepReport& report);

  bool deepspeed() const { return config_.semantics == Semantics::deepspeed; }
  /// The released code leaves the exchange out when there is nobody to exchange with.
  bool exchanges() const { return !(deepspeed() && problem_.shard.workers() == 1); }
  bool watches_masked() const { return compression_->masked.size() > 0 && !compression_->masked_gradient_seen; }
  const device::Device& device() const { return problem_.shard.device; }

  Problem problem_;
  OptimizerConfig config_;
  AdamCore core_;
  Phase phase_;
  Index updates_ = 0;         ///< parameter updates so far
  Index frozen_updates_ = 0;  ///< dense updates in the frozen variance
  Index masked_ = 0;
  std::optional<Compression> compression_;
  // of the running step
  std::vector<double> squared_norms_;  ///< of this device's workers, where clipping needs them
  struct MaskedGradient {
    Index worker = 0;
    double count = 0;
  } first_masked_;  ///< the first of this device's workers with a gradient at masked coordinates
  double encode_seconds_ = 0;
};

}  // namespace onebit::optim
