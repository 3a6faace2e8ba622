#pragma once

#include "optim/sgd/compressed_sgd.hpp"

namespace onebit::optim {

/// EF21 (Richtarik, Sokolov and Fatkhullin, NeurIPS 2021, Algorithm 1) and EF21-SGDM (Fatkhullin, Tyurin and Richtarik,
/// NeurIPS 2023), with g_i the clipped gradient of worker i:
///
///   worker i:  v_i  = (1 - eta) v_i + eta g_i                v_i = g_i at the first step, and for EF21 (eta = 1)
///              sends C(v_i - h_i),  h_i += C(v_i - h_i)      h_i: estimate of v_i, 0 at first
///   all:       h    = mean(h_i),  x -= lr (h + weight_decay x)
///
/// It is implemented as ordinary error feedback on differences, so that h_i need not be stored. With v' the new v_i:
///
///   worker i:  y = (v' - v_i) + e_i,  sends C(y),  e_i = y - C(y),  v_i = v'
///   all:       h += mean of C(y)                             the update's momentum, with decay 1
///
/// This is equivalent, since e_i = v_i - h_i after each step. A second codec on the way down does the same to the mean,
/// so the sum h is then an EF21 estimate of mean(h_i). Error feedback is always on, because EF21 is implemented as
/// error feedback.
class Ef21 final : public CompressedSgd {
 public:
  /// Makes EF21 or EF21-SGDM. eta: share of the new gradient in v_i; 1 for EF21.
  Ef21(const Problem& problem, const OptimizerConfig& config, const SgdMethod& method, double eta);

  void visit_state(device::StateVisitor& visitor) override {
    CompressedSgd::visit_state(visitor);
    visitor.rows("estimates", estimates_, parameters());
  }

 private:
  compress::EncodeInput worker_side(Range group, const compress::EncodeInput& gradients) override;

  double eta_;
  device::Buffer<float> estimates_;   ///< v_i, [workers of this device][parameters]
  device::Buffer<float> difference_;  ///< [group][parameters]
};

std::unique_ptr<Optimizer> make_ef21(const Problem& problem, const OptimizerConfig& config);
std::unique_ptr<Optimizer> make_ef21_sgdm(const Problem& problem, const OptimizerConfig& config);

}  // namespace onebit::optim
