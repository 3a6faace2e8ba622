#pragma once

#include <optional>

#include "compress/channels/compressed_mean.hpp"
#include "optim/adam/adam_core.hpp"
#include "optim/common/clipping.hpp"
#include "optim/common/masked.hpp"
#include "optim/zero_one/zero_one_local.hpp"
#include "optim/zero_one/zero_one_schedule.hpp"

namespace onebit::optim {

/// 0/1 Adam (Lu et al., ICLR 2023). Until the variance is frozen, the workers share weights and momentum; after that,
/// every worker makes local steps, and each sync round exchanges the drifts since the previous one. ZeroOneSchedule
/// chooses the rounds. With g_w the gradient of worker w, d = sqrt(v) c2 + eps, and c1, c2 the bias corrections, in
/// paper semantics:
///
///   full round:    g = clip(mean of g_w),  m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2
///                  x -= lr (m c1 / d + weight_decay x)
///   1-bit round:   g = compressed mean of clip(g_w), with error feedback;  m = beta1 m + (1 - beta1) g;  x as above
///   freeze:        errors = 0,  anchor = x,  m_w = m,  drift_w = 0
///   silent round:  m_w = beta1 m_w + (1 - beta1) clip(g_w),  drift_w += lr c1 m_w
///                  x_w -= lr (m_w c1 / d + weight_decay x_w),  anchor -= lr weight_decay anchor
///   sync round:    m_w, drift_w and the anchor's decay as above;  D = compressed mean of drift_w, with error feedback
///                  anchor -= D / d,  x_w = anchor,  m_w = D / (sum of lr c1 since the last sync round),  drift_w = 0
///
/// The errors are dropped at the freeze because a different quantity is exchanged from then on. The log's phases are
/// warm-up (full rounds), compression (1-bit rounds) and local steps.
///
/// With paper semantics, the optimizer deviates from the paper's Algorithm 1 in these points. Before the freeze, 1-bit
/// rounds exchange gradients, as in the released code, not momenta, and a full round exchanges only the uncompressed
/// gradients. With bias correction (optional, on by default), the momentum uses 1/(1-beta1^t) over all steps t, and the
/// variance 1/(1-beta2^k) with k updates so far. In 1-bit, silent and sync rounds, coordinates with v = 0 are masked:
/// their momentum stays 0. Weight decay is not part of the drift: the anchor, the point of the last synchronisation,
/// decays as the weights do. So the decay rate is lr weight_decay in every phase, and the weights of all workers are
/// bitwise equal after a sync round. The last step of the run is not silent: once the variance is frozen, it is a sync
/// round. Clipping bounds the mean gradient in full rounds, and each worker's own gradient in the other rounds.
///
/// AdamQuirks and ZeroOneAdamQuirks list what deepspeed semantics change.
class ZeroOneAdam final : public Optimizer {
 public:
  ZeroOneAdam(const Problem& problem, const OptimizerConfig& config);

  static const StepSchedule kSchedule;

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

  bool dry_run() const { return quirks_.dry_run && step() == 1; }
  /// Whether anything is exchanged.
  bool exchanges() const { return !(quirks_.idle_alone && problem_.shard.workers() == 1); }
  const device::Device& device() const { return problem_.shard.device; }

  Problem problem_;
  OptimizerConfig config_;
  const ZeroOneAdamQuirks quirks_;
  ZeroOneSchedule schedule_;
  AdamCore core_;
  compress::CompressedMean exchange_;
  LocalClipping clipping_;
  std::optional<MaskedCoordinates> masked_;  ///< present once the variance is frozen
  device::Buffer<float> share_;              ///< factor 1 - beta1, in device memory
  device::Buffer<float> gradient_;           ///< the result of a 1-bit round, [parameters]
  std::optional<ZeroOneLocal> local_;        ///< present once the variance is frozen
  Round round_ = Round::full;                ///< the round of this step
  Index updates_ = 0;                        ///< parameter updates so far
  Index variance_updates_ = 0;
  device::Seconds encode_seconds_;
};

}  // namespace onebit::optim
