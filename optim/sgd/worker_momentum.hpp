#pragma once

#include "optim/sgd/compressed_sgd.hpp"

namespace onebit::optim {

/// Momentum that each worker applies before the exchange.
struct WorkerMomentum {
  double decay = 0;
  double share = 1;       ///< factor of the new gradient
  bool nesterov = false;  ///< whether to send decay m + share g instead of m
};

/// Compressed SGD whose workers send their own momentum (g_i: the clipped gradient of worker i, p_i: what it encodes):
///
/// dist-ef-sgdm: dist-EF-blockSGD with momentum (Zheng et al., NeurIPS 2019, Algorithm 2): m_i = mu m_i + g_i,
/// p_i = mu m_i + g_i + (lr_{t-1} / lr_t) e_i, with the server's error rescaled in the same way; the momentum is always
/// Nesterov's. A block is a set of elements that share a scale in the exchange; the paper's codec is sign-l1.
///
/// ef-sgdm: EF-SGD with momentum at the workers, as in its authors' code (Karimireddy et al. 2019): the heavy ball, m_i
/// = mu m_i + g_i, p_i = m_i + (lr_{t-1} / lr_t) e_i, or Nesterov's momentum, which makes it dist-ef-sgdm.
///
/// signum: signSGD with momentum (Bernstein et al. 2018, Algorithm 2; 2019 for the majority vote):
/// m_i = beta1 m_i + (1 - beta1) g_i.
class WorkerMomentumSgd : public CompressedSgd {
 public:
  WorkerMomentumSgd(const Problem& problem, const OptimizerConfig& config, const SgdMethod& method,
                    const WorkerMomentum& momentum);

  void visit_state(device::StateVisitor& visitor) override {
    CompressedSgd::visit_state(visitor);
    visitor.rows("worker_momentum", momentum_, parameters());
  }

 protected:
  compress::EncodeInput worker_side(Range group, const compress::EncodeInput& gradients) override;

  device::Buffer<float>& worker_momentum() { return momentum_; }

 private:
  WorkerMomentum config_;
  device::Buffer<float> momentum_;  ///< [workers of this device][parameters]
  device::Buffer<float> sent_;      ///< Nesterov's steps, [group][parameters]
};

std::unique_ptr<Optimizer> make_dist_ef_sgdm(const Problem& problem, const OptimizerConfig& config);
std::unique_ptr<Optimizer> make_ef_sgdm(const Problem& problem, const OptimizerConfig& config);
std::unique_ptr<Optimizer> make_signum(const Problem& problem, const OptimizerConfig& config);

}  // namespace onebit::optim
