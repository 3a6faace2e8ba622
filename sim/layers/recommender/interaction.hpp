#pragma once
// The interaction of a recommendation model's features.

#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// Combines the output z of a bottom network with the pooled embeddings e_1 ... e_T (Naumov et al. 2019). All have the
/// width D; with A = [z, e_1, ..., e_T], the output is
///
///   dot   z, then the products A_i . A_j for j < i, row by row: D + (T + 1) T / 2 numbers
///   cat   A: (T + 1) D numbers
///
/// The input is that of the bottom network.
class Interaction final : public Layer {
 public:
  enum class Kind { dot, cat };

  /// Combines two layers. `embeddings` reads the pass's bags and writes [tables][width].
  Interaction(Kind kind, std::unique_ptr<Layer> bottom, std::unique_ptr<Layer> embeddings);

  bool replayable() const override { return bottom_->replayable() && embeddings_->replayable(); }
  void reserve(const Pass& pass) override;
  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  void visit_state(device::StateVisitor& visitor) override;
  void end_step(const StepEnd& end) override;
  double flops(bool reads_data) const override;

 private:
  Index width() const { return bottom_->outputs(); }
  Index features() const { return 1 + embeddings_->outputs() / width(); }

  Kind kind_;
  std::unique_ptr<Layer> bottom_, embeddings_;
  device::Buffer<float> dense_, pooled_;              ///< outputs of the two layers
  device::Buffer<float> dense_delta_, pooled_delta_;  ///< their gradients
  device::Buffer<float> vectors_, vectors_delta_;     ///< dot: A and its gradient, [examples][features][width]
  device::Buffer<float> products_;                    ///< dot: A A^T, then its gradient, [examples][features][features]
};

}  // namespace onebit::sim
