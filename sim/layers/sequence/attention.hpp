#pragma once
// Scaled dot-product attention (Vaswani et al. 2017), without its projections.

#include "device/math/gemm.hpp"
#include "sim/layers/dropout.hpp"

namespace onebit::sim {

/// Reads queries, keys and values of every position, [positions][3 width]; each has `heads` heads of width / heads
/// numbers. Writes [positions][width]. Head h of a position is the sum over positions j of mask(softmax_j(q_h k_hj /
/// sqrt(width / heads))) v_hj, where mask is dropout of the probabilities. A causal head reads no position j
/// after its own.
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
  /// Counts full square matrices of scores, although a causal head needs only half of each.
  double flops(bool reads_data) const override;

 private:
  Index head_width() const { return shape_.width / shape_.heads; }
  /// Number of scores of an example.
  Index scores() const { return shape_.heads * shape_.positions * shape_.positions; }
  float scale() const;
  Index together(const Pass& pass) const;
  template <class Work>
  void for_each_group(const Pass& pass, const Work& work) const;

  /// Views the columns that belong to each head, among the `width` columns of each position.
  template <class T>
  device::Matrices<T> columns(T* data, Index width) const {
    return {data, width, shape_.positions * width, head_width()};
  }
  /// Views the matrix [positions][positions] of each head.
  template <class T>
  device::Matrices<T> squares(T* data) const {
    return {data, shape_.positions, scores(), scores() / shape_.heads};
  }
  void multiply(const Pass& pass, Range group, const device::GemmShape& shape, device::MatrixIn a, device::MatrixIn b,
                device::MatrixOut c) const;
  void dropout(const Pass& pass, Range group, const float* input, float* output) const;
  const float* dropped(const Pass& pass, Range group, float* room) const;
  void forward(const Pass& pass, Range group, const float* input, float* output, float* room);
  void backward(const Pass& pass, Range group, const float* input, const float* output_delta, float* input_delta,
                float* room) const;

  Shape shape_;
  DropoutSite site_;
  device::Buffer<float> probabilities_;  ///< before dropout, [examples][heads][positions][positions]
};

}  // namespace onebit::sim
