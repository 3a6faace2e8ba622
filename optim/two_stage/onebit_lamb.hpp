#pragma once

#include "optim/lamb/lamb_core.hpp"
#include "optim/lamb/lamb_kernels.hpp"
#include "optim/two_stage/two_stage.hpp"

namespace onebit::optim {

/// 1-bit LAMB (Li et al. 2021, Algorithm 1). Update t of tensor l, with g_w the gradient of worker w:
///
///   warm-up:      LAMB with trust ratio R_l;  c_avg_l = coeff_beta c_avg_l + (1 - coeff_beta) R_l
///   freeze:       v and c_avg_l are frozen after update K;  fresh = v,  r_l = 1
///                 a_l = mean_k(s_k) / s_l,  s_l = ||m_l|| / sqrt(d_l), d_l the number of elements of tensor l
///   compression:  u_w = a_l (beta1 m + (1 - beta1) clip(g_w))       at every worker, clipped by its own norm
///                 m'  = compressed mean of u_w / a_l, with error feedback;  0 where v = 0
///                 g   = (m' - beta1 m) / (1 - beta1),  fresh = beta2 fresh + (1 - beta2) g^2,  m = m'
///                 u   = m c1 / (sqrt(v) c2 + eps) + weight_decay x, with the frozen v
///                 r   = max_j (sqrt(v_j) + eps) / (sqrt(fresh_j) + eps)
///                 r   = r share + (1 - share),  share = ||u without weight decay|| / ||u||, at most 1
///                 r_l = clamp(clamp(r, factor_min, factor_max), r_l (1 -+ factor_threshold))
///                 x  -= lr c_avg_l r_l u
///
/// The momenta of all tensors go through one fused exchange; the a_l make a single scale fit all of them. This
/// granularity is part of the algorithm, so the configured granularity is ignored.
///
/// The optimizer in paper semantics deviates from the paper's text in these points, in addition to those that TwoStage
/// describes. c_avg includes every trust ratio, even one of exactly 1. With bias correction, c_avg is divided by 1 -
/// coeff_beta^K, and r compares v_K / (1 - beta2^K) with fresh_t / (1 - beta2^t). Masked coordinates do not count in r,
/// which is 1 if all are masked. A tensor whose momentum is zero at the freeze has a_l = 1 and is left out of the mean
/// of the s_k. If the frozen variance has a floor, r compares it with a fresh variance that has the same floor. A step
/// that refreshes the frozen variance also updates the fresh variance.
///
/// OnebitLambQuirks lists what else changes with deepspeed semantics.
class OnebitLamb : public TwoStage {
 public:
  OnebitLamb(const Problem& problem, const OptimizerConfig& config);

  StateView state() const override;
  void visit_state(device::StateVisitor& visitor) override;

 protected:
  void make_exchange() override;
  void send(Range group, const float* gradients, Index stride, const float* factors) override;
  void receive(StepReport& report) override;
  /// Makes a kernel that writes the scaled momenta of a group's workers, row g at out + g * out_stride, each followed
  /// by the padding of the last step's result.
  PaddedMomentaKernel scaled_momenta(const float* gradients, Index stride, const float* factors, float* out,
                                     Index out_stride) const;
  /// Allocates the buffers of the compression stage, apart from its exchange. exchanged: number of elements in the
  /// exchanged vector.
  void make_room(Index exchanged);

  device::Buffer<float> exchanged_;  ///< the last step's mean of scaled momenta, with the padding that is kept
  device::Buffer<float> rows_;       ///< scaled momenta of a group, if the codec does not compute them itself

 private:
  std::vector<compress::Tensor> exchanged_tensors() const;
  compress::ExchangeConfig fused() const;
  void dense_update(device::Buffer<float>& x, StepReport& report) final;
  void start_compression() final;
  void frozen_update(device::Buffer<float>& x, StepReport& report) final;
  void refreshing_update(const AdamStep& step, device::Buffer<float>& x, StepReport& report) final;

  void average_ratios();
  void start_fresh_variance();
  void fix_scaling();
  void send_padded(Range group, const float* gradients, Index stride, const float* factors);
  void refresh(const AdamStep& step);
  device::Future<float> largest_parts(const AdamStep& step) const;
  std::vector<double> largest_ratios(const device::Future<float>& parts) const;
  void update_factors(const AdamStep& step, const device::Buffer<float>& x);

  const LambConfig lamb_;
  const OnebitLambQuirks lamb_quirks_;
  TensorNumbers numbers_;
  std::vector<double> average_;  ///< c_avg, without bias correction
  // state of the compression stage
  device::Buffer<float> fresh_;    ///< fresh variance, [parameters]
  device::Buffer<float> scaling_;  ///< a_l of each element's tensor, [parameters]
  device::Buffer<float> ones_;     ///< factors of 1, one per worker of this device
};

/// 1-bit LAMB without compression: after the freeze, the workers' scaled momenta are averaged by the dense all-reduce,
/// unpadded in both semantics. It differs from LAMB only in the frozen variance and trust ratio.
class OnebitLamb32 final : public OnebitLamb {
 public:
  using OnebitLamb::OnebitLamb;

 private:
  void make_exchange() override { make_room(core().parameters()); }
  void send(Range group, const float* gradients, Index stride, const float* factors) override;
  void receive(StepReport& report) override;
};

}  // namespace onebit::optim
