#pragma once
// The two logits of a binary linear classifier.

#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// Computes output = (0, x . w + b). Softmax cross-entropy of this output is log(1 + exp(-y (x . w + b))) with y = -1
/// for class 0 and y = 1 for class 1. Tensors: weight [inputs] and, optionally, bias [1]; both are initially zero. The
/// layer reads the data, so it computes no gradient with respect to the input.
class Margin final : public Layer {
 public:
  Margin(Parameters& parameters, Index inputs, bool bias);

  void reserve(const Pass& pass) override;
  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  double flops(bool reads_data) const override;

 private:
  Index weight_, bias_;            ///< offsets in the parameter vector; bias_ is -1 if there is no bias
  device::Buffer<float> margins_;  ///< margins of the examples, then the gradient with respect to them
};

}  // namespace onebit::sim
