#pragma once

#include "optim/sgd/compressed_sgd.hpp"

namespace onebit::optim {

/// EF21 (Richtarik, Sokolov and Fatkhullin, NeurIPS 2021, Algorithm 1) and EF21-SGDM (Fatkhullin, Tyurin and Richtarik,
/// NeurIPS 2023): every worker keeps an estimate h_i of v_i and sends C(v_i - h_i); h_i += C(.), x -= lr mean(h_i).
/// v_i = g_i, or with momentum v_i = (1 - eta) v_i + eta g_i from v_i = g_i at the first step. h_i starts at 0, so that
/// the first step sends C(v_i).
///
/// It runs as ordinary feedback on differences: e_i = (v_i - h_i) - C(.) is what the codec leaves, so the next
/// v_i' - h_i' is (v_i' - v_i) + e_i. A second codec on the way down does the same to the mean: what everybody adds up,
/// h, is an EF21 estimate of mean(h_i). Feedback is always on; it is the algorithm.
class Ef21 final : public CompressedSgd {
 public:
  /// eta: the share of the fresh gradient in v_i; 1 for EF21.
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
