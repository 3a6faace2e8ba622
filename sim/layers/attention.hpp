#pragma once
// Scaled dot-product attention (Vaswani et al. 2017), the part between the projections.

#include "sim/layers/dropout.hpp"

namespace onebit::sim {

/// Reads queries, keys and values of every position side by side, [positions][3 width], each of `heads` heads of
/// width / heads numbers. Writes [positions][width]: head h of a position is
/// sum over positions j of mask(softmax_j(q_h k_hj / sqrt(width / heads))) v_hj, where a causal head reads no j after
/// its own position and mask is dropout of the probabilities.
class SelfAttention final : public Layer {
 public:
  struct Shape {
    Index positions = 0, width = 0, heads = 0;
    bool causal = false;
  };
  SelfAttention(const Shape& shape, DropoutSite site);

  void reserve(const Pass& pass) override;
  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  /// Of full squares of scores, also where half of a causal one is not needed.
  double flops(bool reads_data) const override;

 private:
  Index head_width() const { return shape_.width / shape_.heads; }
  Index square() const { return shape_.positions * shape_.positions; }
  float* probabilities(const Pass& pass, Index head) {
    return probabilities_.data() + head * pass.examples() * square();
  }
  /// Of one head, [examples][positions][positions].
  device::Buffer<float> scores(const Pass& pass) const { return {pass.device, pass.examples() * square()}; }
  DropoutMask mask(const Pass& pass, Index head) const;
  const float* dropped(const Pass& pass, Index head, device::Buffer<float>& room);
  void backward(const Pass& pass, Index head, const float* input, const float* output_delta, float* input_delta);

  Shape shape_;
  DropoutSite site_;
  device::Buffer<float> probabilities_;  ///< [heads][examples][positions][positions], before dropout
};

}  // namespace onebit::sim
