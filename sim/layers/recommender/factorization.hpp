#pragma once

#include <memory>

#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// The logit of a factorization machine (Rendle 2010), computed from sums over its fields:
///
///   z = dense(x) + a + 1/2 (sum over f of q_f^2 - c) + deep(h)
///
/// With 0 factors there is neither q nor c, and z is the logit of a logistic regression.
class Factorization final : public Layer {
 public:
  /// Combines the layers. `dense` reads the dense features, which are the input, and writes one number. `sums` reads
  /// the pass's bags, not numbers, and writes (a, q, c, h). `deep` reads h and writes one number; null if there is no
  /// h.
  Factorization(Index factors, std::unique_ptr<Layer> dense, std::unique_ptr<Layer> sums, std::unique_ptr<Layer> deep);

  bool replayable() const override;
  void reserve(const Pass& pass) override;
  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  void visit_state(device::StateVisitor& visitor) override;
  void end_step(const StepEnd& end) override;
  double flops(bool reads_data) const override;

 private:
  Index factors_;
  std::unique_ptr<Layer> dense_, sums_, deep_;
  device::Buffer<float> dense_output_, sums_output_, deep_input_, deep_output_;
  device::Buffer<float> delta_;  ///< copy of the output's gradient that a layer may overwrite
  device::Buffer<float> sums_delta_, deep_delta_;
};

}  // namespace onebit::sim
