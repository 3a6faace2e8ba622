#pragma once
// The two logits of a binary linear classifier.

#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// output = (0, x . w + b): softmax cross-entropy on top is log(1 + exp(-y (x . w + b))), y = -1 for class 0 and 1 for
/// class 1. Tensors weight [inputs] and, if there is one, bias [1]; both are initially zero. Reads data: there is no
/// gradient with respect to the input.
class Margin final : public Layer {
 public:
  Margin(Parameters& parameters, Index inputs, bool bias);

  void reserve(const Pass& pass) override;
  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  double flops(bool reads_data) const override;

 private:
  Index weight_, bias_;            ///< offsets in the parameter vector; bias_ -1: none
  device::Buffer<float> margins_;  ///< [examples]; then their gradient
};

}  // namespace onebit::sim
