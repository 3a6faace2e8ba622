#pragma once

#include "optim/sgd/worker_momentum.hpp"

namespace onebit::optim {

/// Deep gradient compression (Lin et al., ICLR 2018): momentum correction u_i = mu u_i + g_i, accumulation
/// v_i = u_i + e_i in the error of a sparse codec, momentum factor masking (u_i = 0 where the codec sent), local
/// clipping by clip / sqrt(n). With Nesterov the accumulated step is mu u_i + g_i, as in the authors' code.
///
/// Warm-up: the density falls from 1/4 to k as a geometric series over `ramp` steps; the paper has one value an epoch.
/// "Sent" means that the error is exactly zero, which is so for codecs that send exact values; tensors that are kept
/// dense have no masking, hence ordinary momentum. Feedback is always on. The codec is top-k where the configuration
/// names none but the default, and has to be sparse.
class Dgc final : public WorkerMomentumSgd {
 public:
  Dgc(const Problem& problem, const OptimizerConfig& config, const SgdMethod& method);

  /// Share of the elements that step 1, 2, ... sends in the ramp to the share `final`.
  static double density(Index step, Index ramp, double final);

 private:
  void do_begin() override;
  void after_exchange() override;

  double final_density_;
  Index ramp_;
};

std::unique_ptr<Optimizer> make_dgc(const Problem& problem, const OptimizerConfig& config);

}  // namespace onebit::optim
