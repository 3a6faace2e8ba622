#pragma once

#include "optim/lamb/lamb_core.hpp"
#include "optim/lamb/lamb_kernels.hpp"
#include "optim/two_stage/two_stage.hpp"

namespace onebit::optim {

/// 1-bit LAMB (Li et al. 2021, Algorithm 1). Warm-up: LAMB, with an exponential average c_avg of every tensor's trust
/// ratio. Compression: every worker adds its own gradient to the shared momentum; the momenta of all tensors, each
/// times its fixed scaling coefficient a_l = mean_k(s_k) / s_l with s_l = ||m_l|| / sqrt(d_l) at the freeze, go through
/// ONE fused exchange, so that one scale fits all of them (the granularity is the algorithm's: what the configuration
/// says of it does not count). Tensor l then moves by c_avg r along the frozen variance's direction u, where r follows
/// the fresh variance, which is made of the gradients that the momenta imply:
///   r = max_j (sqrt(v_j) + eps) / (sqrt(fresh_j) + eps), drawn towards 1 by the share that weight decay has in u,
///   clamped to [factor_min, factor_max], then to 1 -+ factor_threshold times the last one (r_0 = 1).
///
/// paper semantics, where they differ from the paper's text (TwoStage says the rest): c_avg takes every trust ratio,
/// also one that is exactly 1, and with bias correction it is divided by 1 - coeff_beta^K; with bias correction r
/// compares v_K / (1 - beta2^K) with fresh_t / (1 - beta2^t); masked coordinates do not count in r, which is 1 where
/// all are masked; a tensor whose momentum is zero at the freeze has a_l = 1 and no part in the mean of the s_k. Where
/// the frozen variance has a floor, r compares with a fresh variance that has the same one; a step that refreshes the
/// variance takes the fresh one along.
///
/// deepspeed semantics: c_avg starts at 0 and skips ratios that are exactly 1, so a tensor whose ratio always was
/// stands still after the freeze; a momentum that is zero at the freeze is an error (the released code divides by
/// zero); a freeze_step of 0 or 1 leaves the fresh variance at 0 instead of v; the fused vector is padded once, and the
/// padding is never zeroed again: each step's output there is the next step's input.
class OnebitLamb : public TwoStage {
 public:
  OnebitLamb(const Problem& problem, const OptimizerConfig& config);

  StateView state() const override;
  void visit_state(device::StateVisitor& visitor) override;

 protected:
  void make_exchange() override;
  void send(Range group, const float* gradients, Index stride, const float* factors) override;
  void receive(StepReport& report) override;
  /// A kernel that writes the scaled momenta of a group's workers, row g at out + g * stride, and its last columns.
  PaddedMomentaKernel scaled_momenta(const float* gradients, Index stride, const float* factors, float* out,
                                     Index out_stride) const;
  /// Room for what the compression stage keeps besides its exchange.
  void make_room(Index exchanged);

  device::Buffer<float> exchanged_;  ///< the last step's mean of scaled momenta, with the padding where it is data
  device::Buffer<float> rows_;       ///< scaled momenta of a group, where they are not made on the codec's way

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
  TensorNumbers numbers_;
  std::vector<double> average_;  ///< c_avg, not debiased
  // of the compression stage
  device::Buffer<float> fresh_;    ///< [parameters]: fresh variance
  device::Buffer<float> scaling_;  ///< [parameters]: a_l of each element's tensor
  device::Buffer<float> ones_;     ///< a factor for each padded row
};

/// 1-bit LAMB without compression: after the freeze the workers' scaled momenta are averaged by the dense all-reduce,
/// unpadded in both semantics. What it lacks against LAMB is the moving variance and trust ratio alone.
class OnebitLamb32 final : public OnebitLamb {
 public:
  using OnebitLamb::OnebitLamb;

 private:
  void make_exchange() override { make_room(core().parameters()); }
  void send(Range group, const float* gradients, Index stride, const float* factors) override;
  void receive(StepReport& report) override;
};

}  // namespace onebit::optim
