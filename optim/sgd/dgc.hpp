#pragma once

#include "optim/sgd/worker_momentum.hpp"

namespace onebit::optim {

/// Deep gradient compression (Lin et al., ICLR 2018): momentum correction, accumulation in the error of a sparse codec,
/// momentum factor masking, and local clipping.
///
///   worker i:  g_i = its gradient, clipped by its own norm to clip / sqrt(n)
///              u_i = mu u_i + g_i                            momentum correction
///              v_i = u_i + e_i                               Nesterov: mu u_i + g_i + e_i, as in the authors' code
///              sends C(v_i),  e_i = v_i - C(v_i)             accumulation
///              u_i = 0 where e_i = 0                         momentum factor masking: these elements were sent
///   all:       x -= lr (mean of C(v_i) + weight_decay x)
///
/// Warm-up: the density falls geometrically from 1/4 to k over `ramp` steps; the paper has one value per epoch. "Sent"
/// means that the error is exactly zero, which holds for codecs that send exact values. For tensors that are kept
/// dense, the momentum is not masked, so it is ordinary momentum. Error feedback is always on. The codec must be
/// sparse; it is top-k unless the configuration names another.
class Dgc final : public WorkerMomentumSgd {
 public:
  Dgc(const Problem& problem, const OptimizerConfig& config, const SgdMethod& method);

  /// Share of the elements that is sent in step 1, 2, ... if the share falls to `final` over `ramp` steps.
  static double density(Index step, Index ramp, double final);

 private:
  void do_begin() override;
  void after_exchange() override;

  double final_density_;
  Index ramp_;
};

std::unique_ptr<Optimizer> make_dgc(const Problem& problem, const OptimizerConfig& config);

}  // namespace onebit::optim
